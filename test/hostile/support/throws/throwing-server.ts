/** A server out of a copy of `dist` that throws where it is told to. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { collect, STARTED } from '../../../support/server-process.ts';
import { type Place, withPlaces } from './places.ts';

/** The folders of the server's main thread. */
const FRONT = ['cli', 'files', 'front', 'grpc', 'net', 'observability', 'server', 'threads'];

const PRELOAD = resolve(import.meta.dirname, 'throw-when-armed.mjs');

export interface Copy {
  readonly folder: string;
  readonly places: readonly Place[];
  remove(): Promise<void>;
}

export async function copyWithPlaces(): Promise<Copy> {
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-throws-'));
  await cp('dist', join(folder, 'dist'), { recursive: true });
  for (const name of ['node_modules', 'models', 'native', 'package.json']) {
    await symlink(resolve(name), join(folder, name));
  }
  const places: Place[] = [];
  for (const part of FRONT) {
    const inPart = await readdir(join(folder, 'dist', part), { recursive: true });
    for (const name of inPart.filter((each) => each.endsWith('.js')).toSorted()) {
      const file = join(folder, 'dist', part, name);
      const code = await readFile(file, 'utf8');
      const made = withPlaces(code, `${part}/${name}`, places.length);
      places.push(...made.places);
      await writeFile(file, made.code);
    }
  }
  return { folder, places, remove: () => rm(folder, { recursive: true, force: true }) };
}

interface Told {
  readonly thrown?: number;
  readonly passed?: readonly number[];
}

export class ThrowingServer {
  readonly url: string;
  readonly grpcPort: number;
  readonly child: ChildProcess;
  readonly output: () => string;
  #thrown = -1;

  private constructor(url: string, grpcPort: number, child: ChildProcess, output: () => string) {
    this.url = url;
    this.grpcPort = grpcPort;
    this.child = child;
    this.output = output;
    child.on('message', ({ thrown }: Told) => {
      if (thrown !== undefined) this.#thrown = thrown;
    });
  }

  static async start(folder: string, flags: readonly string[]): Promise<ThrowingServer> {
    const args = [join(folder, 'dist/cli/main.js'), 'serve', '--port=0', '--grpc-port=0', ...flags];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, NODE_OPTIONS: `--import=${PRELOAD}` },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const output = collect(child);
    while (!STARTED.test(output())) {
      if (child.exitCode !== null) throw new Error(`serve ended:\n${output()}`);
      await sleep(20);
    }
    const url = STARTED.exec(output())?.[1] ?? '';
    const grpcPort = Number(/gRPC at \S+:(\d+)/.exec(output())?.[1]);
    return new ThrowingServer(url, grpcPort, child, output);
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** The next time that a place is passed, it throws; -1 is none. */
  arm(place: number): void {
    this.#thrown = -1;
    this.child.send({ arm: place });
  }

  /** @returns whether the place has thrown */
  async hasThrown(place: number, patienceMs: number): Promise<boolean> {
    const until = performance.now() + patienceMs;
    while (this.#thrown !== place && !this.hasEnded && performance.now() < until) await sleep(5);
    return this.#thrown === place;
  }

  /** The places that were passed since this was asked last. */
  async takePassed(): Promise<readonly number[]> {
    this.child.send({ take: true });
    for (;;) {
      const [{ passed }] = (await once(this.child, 'message')) as [Told];
      if (passed !== undefined) return passed;
    }
  }

  async kill(): Promise<void> {
    if (this.hasEnded) return;
    const closed = once(this.child, 'close');
    this.child.kill('SIGKILL');
    await closed;
  }
}
