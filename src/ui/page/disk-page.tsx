import { useSignal } from '@preact/signals'
import type { DiskView, SweepPlan } from '../protocol.ts'
import { ActionButton } from './actions.tsx'
import { addressOf } from './api.ts'
import { Ago, At, clock } from './clock.tsx'
import { formatBytes, shortened, shown } from './format.ts'
import { Choices, ShellLine, Empty, ErrorBox } from './parts.tsx'
import { linkTo, route } from './route.ts'
import { pointsOf } from './sample-path.ts'
import { useJson } from './use-json.ts'

const days: Readonly<Record<string, number>> = { '1d': 1, '7d': 7, '30d': 30 }

/** The disk use of the temp directory, sessions and trash: now, over time, and what a sweep would remove. */
export function DiskPage() {
  const span = route.value.query.span ?? '7d'
  const openedAt = useSignal(clock.peek())
  const address = addressOf('/api/disk', { since: openedAt.value - (days[span] ?? 7) * 86_400_000 })
  const disk = useJson<DiskView>(address)
  const plan = useJson<SweepPlan>('/api/disk/plan')
  const { data, error } = disk.state.value
  if (data === undefined)
    return error === undefined ? <p class="dim">Loading…</p> : <ErrorBox error={error} />
  const reload = (): void => {
    disk.reload()
    plan.reload()
  }
  return (
    <>
      <div class="head">
        <h1>Disk</h1>
        <div class="tools">
          <Choices
            label="Stretch of time"
            current={span}
            options={Object.keys(days).map((value) => ({
              value,
              text: value,
              link: linkTo('disk', '', { span: value }),
            }))}
          />
        </div>
      </div>
      <Figures disk={data} />
      <div class="with-side below">
        <div>
          <History disk={data} />
          <Plan plan={plan.state.value} onSwept={reload} />
        </div>
        <div>
          <FreeSpace disk={data.disk} />
          <Largest disk={data} />
        </div>
      </div>
    </>
  )
}

function Figures({ disk }: { disk: DiskView }) {
  const figures = [
    {
      name: 'Temp directory',
      value: formatBytes(disk.now.disk_bytes),
      more: `${disk.now.scratches} scratches`,
    },
    { name: 'Left by dead runs', value: String(disk.now.orphans), more: 'orphans' },
    ...(disk.sessions === null
      ? []
      : [
          {
            name: 'Sessions',
            value: formatBytes(disk.sessions.disk_bytes),
            more: `${disk.sessions.count} sessions`,
          },
          { name: 'Trash', value: formatBytes(disk.sessions.trash_disk_bytes), more: 'removed sessions' },
        ]),
  ]
  return (
    <dl class="figures">
      {figures.map(({ name, value, more }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value} <span class="dim small">{more}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** What the chart shows, by the field of a sample. Each has a colour, a dash and a name. */
const series = [
  { field: 'disk_bytes', name: 'Temp directory', look: 'temp' },
  { field: 'sessions_disk_bytes', name: 'Sessions', look: 'sessions' },
  { field: 'trash_disk_bytes', name: 'Trash', look: 'trash' },
] as const

function History({ disk }: { disk: DiskView }) {
  const { samples } = disk
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || samples.length < 2)
    return (
      <section>
        <h2>Disk over time</h2>
        <div class="panel">
          <Empty title="No samples yet.">
            The monitor takes one at each look.
            <br />
            <ShellLine line="stint temp watch" />
          </Empty>
        </div>
      </section>
    )
  const lines = series.map(({ field, ...line }) => {
    const values = samples.map((sample) => ({ at: sample.at, value: sample[field] }))
    return { ...line, values, newest: values.findLast(({ value }) => value !== null)?.value ?? null }
  })
  const most = Math.max(...lines.flatMap(({ values }) => values.map(({ value }) => value ?? 0)))
  const scale = { from: first.at, to: last.at, most }
  return (
    <section>
      <h2>Disk over time</h2>
      <figure class="panel chart">
        <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
          <path class="grid" d="M0 0H1000M0 50H1000M0 100H1000" />
          {lines.map(({ look, values }) => (
            <polyline key={look} class="line" data-of={look} points={pointsOf(values, scale)} />
          ))}
        </svg>
        <p class="top-value">{formatBytes(most)}</p>
        <div class="times">
          <At at={first.at} />
          <At at={last.at} />
        </div>
        <figcaption class="legend">
          {lines.map(({ look, name, newest }) => (
            <span key={look}>
              <svg viewBox="0 0 24 4" aria-hidden="true">
                <path class="line" data-of={look} d="M0 2H24" />
              </svg>
              {name} <strong>{newest === null ? 'not measured' : formatBytes(newest)}</strong>
            </span>
          ))}
        </figcaption>
      </figure>
      {disk.history !== null && (
        <p class="small dim below">
          {disk.history.created} scratches came, {disk.history.removed} went,{' '}
          {formatBytes(disk.history.disk_freed)} freed by sweeps.
        </p>
      )}
    </section>
  )
}

function Plan({
  plan,
  onSwept,
}: {
  plan: { data: SweepPlan | undefined; error: unknown }
  onSwept: () => void
}) {
  const { data, error } = plan
  if (data === undefined) return error === undefined ? null : <ErrorBox error={error} />
  const bytes = data.removed.reduce((sum, entry) => sum + entry.disk_bytes, 0)
  return (
    <section>
      <h2>
        What a sweep would remove
        {data.removed.length > 0 && (
          <span class="right">
            <ActionButton
              action={{
                name: 'sweep',
                title: 'Sweep now?',
                effect: `Removes ${data.removed.length} entries, ${formatBytes(bytes)}, that dead runs have left. A live run loses nothing.`,
                verb: 'Sweep',
                isDangerous: true,
                body: () => ({}),
                done: onSwept,
              }}
            />
          </span>
        )}
      </h2>
      {data.removed.length === 0 ? (
        <p class="dim small">Nothing: dead runs have left no files.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Path</th>
              <th>Why</th>
              <th class="number">Size</th>
            </tr>
          </thead>
          <tbody>
            {data.removed.slice(0, 200).map((entry) => (
              <tr key={entry.path}>
                <td class="fill cut mono">{shown(entry.path)}</td>
                <td>{shown(entry.reason)}</td>
                <td class="number">{formatBytes(entry.disk_bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {data.kept.length > 0 && <p class="small dim below">{data.kept.length} entries stay.</p>}
    </section>
  )
}

function FreeSpace({ disk }: Pick<DiskView, 'disk'>) {
  return (
    <section>
      <h2>Free space</h2>
      <ul class="panel">
        {disk.map(({ name, free_bytes, total_bytes }) => (
          <li class="row" key={name}>
            {shown(name)}
            <span class="right">
              {formatBytes(free_bytes)} <span class="dim small">of {formatBytes(total_bytes)}</span>
            </span>
            <meter
              aria-label={`${shown(name)}: used space`}
              max={total_bytes}
              high={total_bytes * 0.9}
              value={total_bytes - free_bytes}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Largest({ disk }: { disk: DiskView }) {
  const sessions = disk.sessions?.largest ?? []
  return (
    <>
      {disk.largest.length > 0 && (
        <section>
          <h2>Largest in the temp directory</h2>
          <ul class="panel">
            {disk.largest.map((entry) => (
              <li class="row" key={entry.path}>
                <span class="cut mono" title={shown(entry.path)}>
                  {shortened(shown(entry.path), 40)}
                </span>
                <span class="right">{formatBytes(entry.disk_bytes)}</span>
                <p class="small dim">
                  <Ago at={entry.created_at} /> old
                </p>
              </li>
            ))}
          </ul>
        </section>
      )}
      {sessions.length > 0 && (
        <section>
          <h2>Largest sessions</h2>
          <ul class="panel">
            {sessions.map(({ session_id, disk_bytes }) => (
              <li class="row" key={session_id}>
                <a class="mono" data-item href={linkTo('sessions', session_id)}>
                  {shortened(session_id, 20)}
                </a>
                <span class="right">{formatBytes(disk_bytes)}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}
