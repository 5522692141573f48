import { errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'

/** Loads the package that an adapter adapts; `PEER_MISSING` says what to install if it is not there. */
export async function importPeer<Module>(
  entry: string,
  packages: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (cause) {
    if (errorCode(cause) !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new StintError('PEER_MISSING', `${entry} cannot be loaded: ${errorMessage(cause)}`, {
      hint: `Run \`npm install ${packages}\`. A stint that is linked to its clone does not find it: install the tarball of \`npm pack\`.`,
      cause,
    })
  }
}
