/**
 * The script for each shell. It asks `stint completion --for` what can stand at the cursor. The answer is one
 * line for each candidate, `text<TAB>help`, or `:files` or `:programs` if the shell is to complete the names.
 */
export const scripts = {
  bash: `# bash completion for stint: eval "$(stint completion bash)"
_stint() {
  local line words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then
      compopt -o default 2>/dev/null || :
      COMPREPLY=()
      return
    fi
    if [ "$line" = ":programs" ]; then
      compopt -o default 2>/dev/null || :
      [[ "\${COMP_WORDS[COMP_CWORD]}" == */* ]] && return
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -c -- "\${COMP_WORDS[COMP_CWORD]}" | sort -u)
      return
    fi
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(command stint completion --for -- "\${words[@]}" 2>/dev/null)
}
complete -o nosort -F _stint stint 2>/dev/null || complete -F _stint stint
`,
  zsh: `#compdef stint
# zsh completion for stint: eval "$(stint completion zsh)"
_stint() {
  local line
  local -a candidates
  for line in "\${(@f)$(command stint completion --for -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ "$line" == ":files" ]]; then
      _files
      return
    fi
    if [[ "$line" == ":programs" ]]; then
      if [[ "\${words[CURRENT]}" == */* ]]; then _files; else _command_names -e; fi
      return
    fi
    [[ -n "$line" ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe 'stint' candidates
}
compdef _stint stint
`,
  fish: `# fish completion for stint: stint completion fish | source
function __stint_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (command stint completion --for -- $words[2..-1] 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path (commandline -ct)
            return
        end
        if test "$line" = ":programs"
            complete -C (commandline -ct)
            return
        end
        printf '%s\\n' $line
    end
end
complete -c stint -f -a '(__stint_complete)'
`,
} as const

export type Shell = keyof typeof scripts

export const shells = Object.keys(scripts) as Shell[]

export const isShell = (name: string): name is Shell => Object.hasOwn(scripts, name)
