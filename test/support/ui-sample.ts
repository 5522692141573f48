import type {
  ActRow,
  Answers,
  ChangeList,
  ChangeRow,
  ChangeView,
  ClaimActivity,
  EventPage,
  NowView,
  SessionPage,
  SessionTile,
  SessionView,
  TranscriptView,
  UndoPreview,
  WorkspaceView,
} from '../../src/ui/server/protocol.ts'

/** The moment at which the samples were taken. */
export const sampleAt = Date.UTC(2026, 10, 17, 9, 30)
const minute = 60_000
const ago = (minutes: number): number => sampleAt - minutes * minute

const shop = { key: 'shop', name: '/home/ana/src/shop' }
const site = { key: 'site', name: '/home/ana/src/site' }
const [claude, codex] = ['5b1f6a02-77c1-4f0e-9a51-2f8a90ab4112', '0199a3c4-6f1d-7b7e-8c55-1d2e3f4a5b6c']

const tile = (more: Partial<SessionTile>): SessionTile => ({
  session_id: claude,
  state: 'working',
  since: ago(3),
  origin: { agent: 'Claude Code', terminal: 'pts/3', tmux_pane: '%5' },
  agent: 'Claude Code',
  pid: 41_207,
  task: 'Make the checkout accept vouchers',
  holds: [{ ...shop, paths: ['**'], fence: 12 }],
  doing: 'runs `npm test` (pid 41690)',
  waits_for: null,
  workspace: shop.name,
  last_at: ago(0.1),
  recorded: 'active',
  ...more,
})

/** Sessions in every state. */
export const sampleNow: NowView = {
  next: { step: 'stint init', why: 'puts hooks in, keeps restore points and conversations' },
  tiles: [
    tile({
      session_id: '9c2d7e10-1111-4222-8333-444455556666',
      state: 'damaged',
      agent: 'Codex',
      origin: { agent: 'Codex', terminal: 'pts/7' },
      since: ago(12),
      last_at: ago(12),
      task: 'Publish the new price list',
      workspace: site.name,
      holds: [{ ...site, paths: ['**'], fence: 4 }],
      doing: null,
      recorded: 'damaged',
    }),
    tile({
      session_id: 'ses_01KC4X8T5M2Q7R9V3W6Y8Z0A1B',
      state: 'crashed',
      agent: 'import',
      origin: null,
      pid: null,
      since: ago(131),
      last_at: ago(131),
      task: 'Nightly import of orders',
      holds: [],
      doing: null,
      workspace: '/home/ana/src/orders',
      recorded: 'crashed',
    }),
    tile({
      session_id: codex,
      state: 'waiting',
      agent: 'Gemini CLI',
      origin: { agent: 'Gemini CLI', terminal: 'pts/9' },
      since: ago(1),
      task: 'Write the changelog',
      holds: [],
      doing: null,
      waits_for: { ...shop, paths: ['**'], held_by: [claude] },
    }),
    tile({}),
    tile({
      session_id: '71aa0c3e-2222-4333-8444-555566667777',
      state: 'background',
      agent: 'Cursor',
      origin: { agent: 'Cursor', terminal: 'pts/2' },
      task: 'Try the new layout',
      workspace: site.name,
      holds: [{ ...site, paths: ['src/layout'], fence: 9 }],
      doing: 'its turn has ended, but `node build.js` (pid 39001) still runs',
    }),
    tile({
      session_id: 'e0d1c2b3-3333-4444-8555-666677778888',
      state: 'idle',
      agent: 'OpenCode',
      origin: { agent: 'OpenCode', terminal: 'pts/4' },
      since: ago(64),
      last_at: ago(64),
      task: '<b>Not bold</b> \u202eand not reversed',
      holds: [],
      doing: null,
      workspace: '/home/ana/src/a/workspace/with/a/long/way/to/its/own/directory/docs',
      recorded: null,
    }),
  ],
  incidents: [
    {
      ...shop,
      at: ago(1.5),
      kind: 'refusal',
      session_id: codex,
      pid: null,
      paths: ['**'],
      purpose: null,
      by: claude,
      origin: { agent: 'Gemini CLI' },
    },
    {
      ...site,
      at: ago(26),
      kind: 'takeover',
      session_id: 'e0d1c2b3-3333-4444-8555-666677778888',
      pid: null,
      paths: ['src/layout'],
      purpose: null,
      by: '71aa0c3e-2222-4333-8444-555566667777',
      held_ms: 40 * minute,
      origin: { agent: 'OpenCode' },
    },
  ],
  findings: [
    { name: 'orphans', level: 'warn', text: 'dead runs have left 2 entries, 1.2 GiB', fix: 'stint sweep' },
  ],
}

const did = (
  session_id: string,
  kind: ClaimActivity['kind'],
  at: number,
  more: Partial<ClaimActivity> = {},
): ClaimActivity => ({
  session_id,
  kind,
  at,
  pid: null,
  paths: ['**'],
  purpose: null,
  origin: { agent: session_id === claude ? 'Claude Code' : 'Gemini CLI' },
  ...more,
})

/** An hour in a workspace: two sessions, a refusal, two waits, a takeover. */
export const sampleWorkspace: WorkspaceView = {
  ...shop,
  store: 'files',
  from: ago(60),
  to: sampleAt,
  claims: [
    {
      session_id: claude,
      parent: null,
      pid: 41_207,
      liveness: 'alive',
      state: 'held',
      acquired_at: ago(20),
      held_ms: 20 * minute,
      expires_in_ms: 30 * minute,
      paths: ['**'],
      mode: 'exclusive',
      fence: 12,
      purpose: 'Make the checkout accept vouchers',
      origin: { agent: 'Claude Code' },
      work: { pid: 41_690, command: 'npm test', text: 'runs `npm test` (pid 41690)' },
      holders: [41_207],
    },
  ],
  waiters: [
    {
      session_id: codex,
      pid: 41_207,
      since: ago(1),
      waited_ms: minute,
      paths: ['**'],
      mode: 'exclusive',
      origin: { agent: 'Gemini CLI' },
    },
  ],
  activities: [
    did(codex, 'grant', ago(52), { paths: ['docs'], purpose: 'Write the changelog' }),
    did(codex, 'takeover', ago(37), { paths: ['docs'], by: 'other', held_ms: 15 * minute }),
    did(codex, 'grant', ago(34), { purpose: 'Write the changelog' }),
    did(claude, 'refusal', ago(28), { by: codex }),
    did(claude, 'wait', ago(25), { by: codex }),
    did(codex, 'release', ago(20), { held_ms: 14 * minute }),
    did(claude, 'grant', ago(20)),
    did(codex, 'wait', ago(1), { by: claude }),
  ],
}

export const sampleSession: SessionView = {
  session_id: 'ses_01KC4X8T5M2Q7R9V3W6Y8Z0A1B',
  state: 'crashed',
  key: null,
  labels: {},
  tool: 'import',
  title: 'Nightly import of orders',
  workspace: '/home/ana/src/orders',
  created_at: ago(140),
  last_at: ago(131),
  records: 30,
  bytes: 48_213,
  disk_bytes: 49_152,
  holder: null,
  epoch: null,
  slots: [{ ext: 'plan', version: '1', bytes: 42, value: '{\n  "next": "charge order 1207"\n}' }],
  unsettled: [{ act: 'act_1', seq: 7, at: ago(131), action: 'charge', subject: 'order 1207' }],
}

const act = { act: null, type: 'act', action: 'charge', key: null, detail: null } as const

/** An act that succeeded, one that failed, and one without an outcome. */
const sampleActs: ActRow[] = [
  {
    ...act,
    seq: 3,
    at: ago(140) + 23 * 17_000 + 1,
    subject: 'order 1200',
    outcome: { at: ago(133), duration_ms: 412, ok: true, error: null },
  },
  {
    ...act,
    seq: 5,
    at: ago(140) + 26 * 17_000 + 1,
    subject: 'order 1203',
    outcome: { at: ago(132), duration_ms: 1840, ok: false, error: 'the card was declined' },
  },
  { ...act, seq: 7, at: ago(131), subject: 'order 1207', outcome: null },
]

/** Thirty events of two turns, and the acts among them. */
export const sampleEvents: EventPage = {
  last: 30,
  acts: sampleActs,
  acts_left_out: 0,
  events: Array.from({ length: 30 }, (_, index) => ({
    seq: index + 1,
    at: ago(140) + index * 17_000,
    type: index % 15 === 0 ? 'stint.turn' : index % 3 === 0 ? 'tool' : 'message',
    data:
      index % 15 === 0
        ? { text: `turn ${1 + index / 15}` }
        : { text: `order ${1177 + index}: checked and priced` },
  })),
}

/** A conversation that only the vault has. */
export const sampleTranscript: TranscriptView = {
  transcript: {
    agent: 'claude',
    agent_title: 'Claude Code',
    id: '3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b7c',
    title: 'Why does the export of large orders run out of memory?',
    workspace: '/home/ana/src/orders',
    source: '/home/ana/.claude/projects/-home-ana-src-orders/3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b7c.jsonl',
    files: 1,
    bytes: 812_334,
    generations: 2,
    last_at: ago(60 * 24 * 34),
    lost_after: ago(60 * 24 * 3),
    due_at: null,
    resume: 'claude --resume 3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b7c',
  },
  entries: [
    { who: 'user', tool: null, text: 'Why does the export of large orders run out of memory?' },
    { who: 'assistant', tool: null, text: 'I look at the export first.' },
    { who: 'assistant', tool: 'Bash', text: '{"command":"grep -rn readFileSync src/export"}' },
    { who: 'tool', tool: null, text: "src/export/orders.ts:41:  const all = readFileSync(path, 'utf8')" },
    {
      who: 'assistant',
      tool: null,
      text: 'orders.ts reads the whole file before it writes the first row:\n\n- 41: readFileSync\n- 58: split into lines\n\nReading it in pieces keeps the memory at a few megabytes. Shall I change it?',
    },
    { who: 'user', tool: null, text: 'Yes. The key for the store is <masked:github-token>.' },
  ].map((entry, index) => ({
    line: index + 2,
    at: ago(60 * 24 * 34) + index * 9000,
    cut: null,
    ...entry,
    who: entry.who as 'user',
  })),
  has_earlier: false,
  has_later: true,
}

/** Sessions in several states, of which the first is the sample, and a conversation that is not recorded. */
export const sampleSessions: SessionPage = {
  sessions: [
    { session_id: sampleSession.session_id, recorded: sampleSession, transcript: null },
    {
      session_id: claude,
      recorded: {
        ...sampleSession,
        session_id: claude,
        state: 'active',
        tool: 'Claude Code',
        title: 'Make the checkout accept vouchers',
        workspace: shop.name,
        last_at: ago(0.1),
        records: 1204,
        bytes: 2_483_112,
      },
      transcript: { ...sampleTranscript.transcript, lost_after: null, due_at: ago(-60 * 24 * 29) },
    },
    {
      session_id: codex,
      recorded: {
        ...sampleSession,
        session_id: codex,
        state: 'closed',
        tool: 'Gemini CLI',
        title: null,
        workspace: '/home/ana/src/a/workspace/with/a/long/way/to/its/own/directory/docs',
        last_at: ago(3000),
      },
      transcript: null,
    },
    { session_id: sampleTranscript.transcript.id, recorded: null, transcript: sampleTranscript.transcript },
  ],
  from: 0,
  total: 4,
}

/** A workspace in use, a free one, and a resource on a server. */
export const sampleWorkspaces: Answers['GET /api/workspaces'] = {
  workspaces: [
    { ...shop, store: 'files', claims: 1, waiters: 1, last_at: ago(1) },
    {
      key: 'deploy',
      name: 'deploy',
      store: 'postgres',
      claims: 2,
      waiters: 0,
      last_at: ago(9),
    },
    { ...site, store: 'files', claims: 0, waiters: 0, last_at: ago(300) },
  ],
}

const change = (more: Partial<ChangeRow>): ChangeRow => ({
  key: shop.key,
  workspace: shop.name,
  id: 'k3m9x2v8',
  kind: 'turn',
  session_id: claude,
  agent: 'Claude Code',
  words: 'Make the checkout accept vouchers',
  began_at: ago(14),
  ended_at: ago(9),
  end: 'seen',
  complete: true,
  head_moved: false,
  undone: 'no',
  undoes: [],
  files: 4,
  added: 37,
  removed: 9,
  left_out: [],
  ...more,
})

export const sampleChanges: ChangeList = {
  changes: [
    change({ id: 'a1', end: 'open', ended_at: null, began_at: ago(2), files: 1, added: 3, removed: 0 }),
    change({
      id: 'a2',
      kind: 'undo',
      agent: 'stint undo',
      words: null,
      began_at: ago(6),
      files: 2,
      added: 4,
      removed: 20,
    }),
    change({}),
    change({
      id: 'a4',
      key: site.key,
      workspace: site.name,
      session_id: codex,
      agent: 'Codex',
      words: 'Publish the new price list, and tell everybody who asked about it in spring',
      began_at: ago(50),
      undone: 'yes',
      files: 12,
      added: 1204,
      removed: 380,
    }),
    change({
      id: 'oa5',
      kind: 'outside',
      session_id: null,
      agent: null,
      words: null,
      began_at: ago(120),
      files: 1,
      added: 1,
      removed: 1,
    }),
    change({ id: 'a6', complete: false, end: 'unseen', began_at: ago(3000), words: null }),
  ],
  older: 31,
}

export const sampleChange: ChangeView = {
  ...change({ left_out: ['data/orders.sqlite (over 10 MiB and untracked)'], head_moved: true }),
  diffs: [
    {
      path: 'src/checkout/voucher.ts',
      change: 'changed',
      moved_from: null,
      is_binary: false,
      added: 2,
      removed: 1,
      lines: [
        '@@ -12,6 +12,7 @@ export function totalOf(cart: Cart): number {',
        '   const sum = cart.items.reduce((all, item) => all + item.price * item.count, 0)',
        '-  return sum',
        '+  const off = cart.voucher === undefined ? 0 : discountOf(cart.voucher, sum)',
        '+  return Math.max(0, sum - off)',
        ' }',
      ],
      lines_left_out: 0,
    },
    {
      path: 'src/checkout/discount.ts',
      change: 'moved',
      moved_from: 'src/cart/discount.ts',
      is_binary: false,
      added: 0,
      removed: 0,
      lines: [],
      lines_left_out: 0,
    },
    {
      path: 'test/fixtures/orders.json',
      change: 'added',
      moved_from: null,
      is_binary: false,
      added: 35,
      removed: 0,
      lines: ['@@ -0,0 +1,35 @@', '+[', '+  { "id": 1207, "price": 30 },'],
      lines_left_out: 32,
    },
    {
      path: 'assets/voucher.png',
      change: 'deleted',
      moved_from: null,
      is_binary: true,
      added: 0,
      removed: 0,
      lines: [],
      lines_left_out: 0,
    },
  ],
  files_left_out: 0,
}

export const sampleUndo: UndoPreview = {
  workspace: shop.name,
  id: null,
  undone_sets: ['k3m9x2v8'],
  dry_run: true,
  files: [
    { path: 'assets/voucher.png', effect: 'brought back' },
    { path: 'src/cart/discount.ts', effect: 'brought back' },
    { path: 'src/checkout/discount.ts', effect: 'deleted' },
    { path: 'src/checkout/voucher.ts', effect: 'changed back, with later changes kept' },
    { path: 'test/fixtures/orders.json', effect: 'deleted' },
  ],
  conflicts: [],
  kept: ['.env'],
  left_out: [],
  staged: [],
  changed_since: [],
  take_back: null,
  plan: 'plan',
}
