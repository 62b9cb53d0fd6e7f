/** Throws at places one by one, and looks at what becomes of the request and the server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ADMIN_KEY, ask, Hang, SCENARIOS } from './requests.ts';
import type { Copy } from './throwing-server.ts';
import { ThrowingServer } from './throwing-server.ts';

export type Harm = 'lost' | 'hang' | 'deaf' | 'leak';

export interface Finding {
  readonly place: string;
  readonly scenario: string;
  readonly harm: Harm;
  readonly what: string;
}

export interface Walk {
  /** Numbers of places that a scenario passes, and one scenario that does. */
  readonly reached: ReadonlyMap<number, string>;
  readonly numThrown: number;
  readonly findings: readonly Finding[];
}

/** How long a place may be passed after its request has ended. */
const LATE_MS = 300;
const IDLE_MS = 5000;
const SETTLE_MS = 2000;

/** How often the walk says how far it is. */
const PLACES_PER_LINE = 100;

interface Holdings {
  readonly listed: number;
  /** In the queue and in the engine, and who holds a place or a model. */
  readonly queued: number;
  readonly holding: number;
  readonly sockets: number;
  readonly timers: number;
}

export async function walk(
  copy: Copy,
  flags: readonly string[],
  pick: (reached: readonly number[]) => readonly number[],
): Promise<Walk> {
  let server = await ThrowingServer.start(copy.folder, flags);
  try {
    let idle = await warmUp(server);
    const reached = await coverage(server);
    const findings: Finding[] = [];
    let numThrown = 0;
    const picked = pick([...reached.keys()]);
    const begin = performance.now();
    for (const [at, place] of picked.entries()) {
      if (at % PLACES_PER_LINE === 0) {
        const seconds = Math.round((performance.now() - begin) / 1000);
        console.log(`${at} of ${picked.length} places, ${seconds} s, ${findings.length} findings`);
      }
      const scenario = reached.get(place) ?? '';
      const { hasThrown, harm, what } = await throwAt(server, place, scenario, idle);
      if (hasThrown) numThrown++;
      if (harm === null) continue;
      findings.push({ place: copy.places[place]?.name ?? '', scenario, harm, what });
      console.log(findings.at(-1));
      // A hung request holds nothing once its client has left, unless it leaks too.
      if (harm === 'hang' && (await harmLeft(server, idle, scenario)) === null) continue;
      await server.kill();
      server = await ThrowingServer.start(copy.folder, flags);
      idle = await warmUp(server);
    }
    return { reached, numThrown, findings };
  } finally {
    await server.kill();
  }
}

/** After a warm-up: what is done once only is not done for a request. */
async function coverage(server: ThrowingServer): Promise<Map<number, string>> {
  const reached = new Map<number, string>();
  await server.takePassed();
  await sleep(1000);
  const always = new Set(await server.takePassed());
  for (const [name, run] of SCENARIOS) {
    await run(server).catch(console.warn);
    await sleep(20);
    for (const place of await server.takePassed()) {
      if (!reached.has(place) || always.has(place)) reached.set(place, name);
    }
  }
  return reached;
}

/** @returns what an idle server holds */
async function warmUp(server: ThrowingServer): Promise<Holdings> {
  for (const run of SCENARIOS.values()) await run(server).catch(console.warn);
  await sleep(SETTLE_MS);
  return holdings(server);
}

async function throwAt(
  server: ThrowingServer,
  place: number,
  scenario: string,
  idle: Holdings,
): Promise<{ hasThrown: boolean; harm: Harm | null; what: string }> {
  server.arm(place);
  let hang: string | null = null;
  try {
    await SCENARIOS.get(scenario)?.(server);
  } catch (error) {
    hang = error instanceof Hang ? error.message : String(error);
  }
  const hasThrown = await server.hasThrown(place, LATE_MS);
  const sight = { hasThrown };
  if (server.hasEnded) {
    return { ...sight, harm: 'lost', what: server.output().slice(-600) };
  }
  server.arm(-1);
  if (hang !== null) return { ...sight, harm: 'hang', what: hang };
  const left = await harmLeft(server, idle, scenario);
  return { ...sight, harm: left?.harm ?? null, what: left?.what ?? '' };
}

/** Whether the server answers the same request, and holds no more than it did; null if so. */
async function harmLeft(
  server: ThrowingServer,
  idle: Holdings,
  scenario: string,
): Promise<{ harm: Harm; what: string } | null> {
  try {
    await SCENARIOS.get(scenario)?.(server);
    const live = await ask(server, '/livez');
    const body = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2 };
    const chat = await ask(server, '/v1/chat/completions', { body });
    if (live.status !== 200 || chat.status !== 200) {
      return { harm: 'deaf', what: `${live.status} ${chat.status} ${chat.text}` };
    }
    const leak = await leakOf(server, idle);
    return leak === null ? null : { harm: 'leak', what: leak };
  } catch (error) {
    return { harm: 'deaf', what: String(error) };
  }
}

/** Things that are still held once all should be over; null for none. */
async function leakOf(server: ThrowingServer, idle: Holdings): Promise<string | null> {
  const deadline = performance.now() + IDLE_MS;
  for (;;) {
    const now = await holdings(server);
    const isOver = now.listed === 0 && now.queued === 0 && now.holding <= idle.holding;
    if (isOver && now.sockets <= idle.sockets && now.timers <= idle.timers) return null;
    if (performance.now() > deadline) return `${JSON.stringify(now)} is ${JSON.stringify(idle)}`;
    await sleep(50);
  }
}

interface State {
  readonly num_requests: number;
  readonly open_resources: Readonly<Record<string, number>>;
  readonly loaded: readonly {
    readonly num_uses: number;
    readonly queue: { readonly waiting: number; readonly running: number };
    readonly stats: { readonly numRunning: number; readonly numWaiting: number };
  }[];
}

async function holdings(server: ThrowingServer): Promise<Holdings> {
  const { text } = await ask(server, '/admin/state', { key: ADMIN_KEY });
  const { num_requests, open_resources, loaded } = JSON.parse(text) as State;
  const queued = loaded.reduce(
    (sum, { queue, stats }) => sum + queue.waiting + stats.numRunning + stats.numWaiting,
    0,
  );
  const holding = loaded.reduce((sum, { num_uses, queue }) => sum + num_uses + queue.running, 0);
  const { TCPSocketWrap = 0, Timeout = 0 } = open_resources;
  // Beyond those that are open at this end.
  const own = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const sockets = TCPSocketWrap - own;
  return { listed: num_requests, queued, holding, sockets, timers: Timeout };
}
