import { defineBareCommand } from '../../command/define-command.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { formatBytes } from '../../base/text/size.ts'
import {
  type DiskUse,
  type DriverStore,
  FilesystemDriver,
  type UseKind,
  useKinds,
} from '../../session/index.ts'
import type { SessionSpace } from '../../sweep/index.ts'
import { openStore, storeOption } from '../store.ts'
import { showWork } from '../terminal/progress.ts'
import { formatDataSize, formatSpace, plural } from '../text/format.ts'
import { type Column, table } from '../text/table.ts'

const defaultLimit = 20

export const duCommand = defineBareCommand({
  name: 'du',
  summary:
    'How much disk space sessions take, the largest first, by kind. What a fork shares with its original counts once.',
  options: {
    all: { type: 'boolean', help: `every session, not only the ${defaultLimit} largest` },
    ...storeOption,
  },
  examples: [
    ['stint sessions du', 'what fills the disk'],
    ['stint sessions du --all --json', 'for scripts'],
  ],
  async run(context, { options }) {
    const store = await openStore(options.store, context.warn)
    const measured = await showWork('measuring', context, () => measureSessions(store))
    const { sessions: uses, trashBytes, trashDiskBytes } = measured
    const sum = (of: (use: Required<DiskUse>) => number): number =>
      uses.reduce((total, use) => total + of(use), 0)
    const byKind = (of: (use: Required<DiskUse>, kind: UseKind) => number) =>
      Object.fromEntries(useKinds.map((kind) => [kind, sum((use) => of(use, kind))]))
    return {
      sessions: options.all ? uses : uses.slice(0, defaultLimit),
      total: {
        sessions: uses.length,
        bytes: sum(({ bytes }) => bytes),
        disk_bytes: sum(({ disk_bytes }) => disk_bytes),
        ...byKind((use, kind) => use[kind]),
        disk: byKind(({ disk }, kind) => disk[kind]),
      },
      trash_bytes: trashBytes,
      trash_disk_bytes: trashDiskBytes,
    }
  },
  render({ sessions, total, trash_bytes, trash_disk_bytes }, { columns }) {
    const size = (bytes: number): string => (bytes === 0 ? '' : formatBytes(bytes))
    const trash = { bytes: trash_bytes, disk_bytes: trash_disk_bytes }
    const rest = total.sessions - sessions.length
    return [
      ...table(
        sessions,
        [
          { title: 'SIZE', cell: ({ disk_bytes }) => formatBytes(disk_bytes), align: 'right' },
          { title: 'DATA', cell: formatDataSize, align: 'right', spare: 0 },
          ...useKinds.map((kind, index): Column<Required<DiskUse>> => {
            const title = kind.toUpperCase()
            return {
              title,
              cell: ({ disk }) => size(disk[kind]),
              align: 'right',
              spare: useKinds.length - index,
            }
          }),
          { title: 'ID', cell: ({ session_id }) => session_id, cut: 'middle', least: 13 },
        ],
        columns,
      ),
      ...(rest > 0 ? [`${rest} smaller: --all shows them`] : []),
      `${plural(total.sessions, 'session')}, ${formatSpace(total)}; in the trash ${formatSpace(trash)}`,
    ].join('\n')
  },
})

/** Measures every session, the largest first, and what is in the trash. */
export async function measureSessions({ driver }: Pick<DriverStore, 'driver'>) {
  const measured = (await driver.diskUse?.()) ?? (await (await driver.files?.())?.diskUse())
  if (measured === undefined)
    throw new StintError('ARG_ERROR', `sessions of the store ${driver.id} cannot be measured`)
  const { trashBytes, trashDiskBytes = trashBytes } = measured
  const sessions = measured.sessions.map(withBlocks)
  sessions.sort((a, b) => b.disk_bytes - a.disk_bytes || (a.session_id < b.session_id ? -1 : 1))
  return { sessions, trashBytes, trashDiskBytes }
}

/** Measures the sessions in the home for the history of the disk; undefined if that is not possible. */
export async function measureSessionSpace(): Promise<SessionSpace | undefined> {
  try {
    const { sessions, trashDiskBytes } = await measureSessions({ driver: new FilesystemDriver() })
    const sessions_disk_bytes = sessions.reduce((sum, { disk_bytes }) => sum + disk_bytes, 0)
    return { sessions_disk_bytes, trash_disk_bytes: trashDiskBytes }
  } catch {
    // `stint doctor` reports what is wrong with the home.
    return undefined
  }
}

/** A server knows only what its rows take, as they are stored. */
function withBlocks(use: DiskUse): Required<DiskUse> {
  const { journal, audit, blobs, snapshots, quarantine, other } = use
  const { disk_bytes = use.bytes, disk = { journal, audit, blobs, snapshots, quarantine, other } } = use
  return { ...use, disk_bytes, disk }
}
