/**
 * What a remote's URL says about the repository, whatever way leads to it: `git@host:a/b.git`, `ssh://git@host:2222/a/b` and
 * `https://token@host/a/b/` are all `host/a/b`. Undefined if it is a path of this machine.
 *
 * In lower case: many servers do not tell cases apart, and to take two repositories for one only makes somebody wait; to take one for two
 * lets two sessions edit it. Users and tokens are left out: what is kept here, others can read.
 */
export function repositoryName(url: string): string | undefined {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(url) ?? []
  if (scheme !== '') return scheme.toLowerCase() === 'file' ? undefined : ofUrl(scheme.toLowerCase(), rest)
  const [, helper = '', address = ''] = /^([a-z0-9-]+)::(.*)$/is.exec(url) ?? []
  // A transport of its own, whose addresses only it can read.
  if (helper !== '') return `${helper}::${address.replace(/^([a-z0-9+.-]*:\/\/)[^/]*@/i, '$1')}`.toLowerCase()
  return ofScp(url)
}

function ofUrl(scheme: string, rest: string): string {
  const [, authority = '', path = ''] = /^([^/?#]*)([^?#]*)/s.exec(rest) ?? []
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const [, name = '', port = ''] = /^(\[.*\]|[^:]*):?(\d*)$/.exec(host) ?? [undefined, host]
  // Where ssh listens says nothing about what is behind it; two web servers on one host are two.
  const shown = scheme.startsWith('http') && port !== '' && port !== defaultPorts[scheme] ? `:${port}` : ''
  return joined(`${name}${shown}`, path)
}

const defaultPorts: Readonly<Record<string, string>> = { http: '80', https: '443' }

/** `user@host:path`: with a colon before any slash. Anything else is a path. */
function ofScp(url: string): string | undefined {
  const [, host, path = ''] = /^(?:[^/@:]+@)?(\[[^\]]+\]|[^/:[\]]+):(.+)$/s.exec(url) ?? []
  // A drive of Windows is one letter.
  if (host === undefined || host.length === 1) return undefined
  return joined(host.replace(/^\[([^\]:]+)(?::\d+)?\]$/, '$1'), path)
}

function joined(host: string, path: string): string {
  const parts = decoded(path)
    .split('/')
    .filter((part) => part !== '' && part !== '.')
  const name = parts.join('/').replace(/\.git$/i, '')
  return `${host.replace(/\.$/, '')}/${name}`.toLowerCase()
}

/** The path in a `file://` URL, as git reads it: what looks like a host is its first part. */
export function pathOfFileUrl(url: string): string {
  const path = decoded(url.slice('file://'.length))
  return path.startsWith('/') ? path : `/${path}`
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
