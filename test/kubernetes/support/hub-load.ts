/** A hub that pods can reach. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { CONTROL_ADDRESS } from '../../../scripts/kubernetes/cluster/network.ts';
import { findMachine } from '../../../scripts/kubernetes/cluster/state.ts';

export const LISTENS = 'listens';
const PORT = 8080;

const hubSeenSchema = z.object({
  /** Paths, with the range where there is one. */
  requests: z.array(z.string()),
  tokens: z.array(z.string().nullable()),
});
export type HubSeen = z.infer<typeof hubSeenSchema>;

export class ClusterHub {
  static readonly endpoint = `http://${CONTROL_ADDRESS}:${PORT}`;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    if (child.stdout === null) throw new Error('it has no output');
    this.#lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  }

  /** @param folder of the model */
  static async start(folder: string): Promise<ClusterHub> {
    const script = join(import.meta.dirname, 'hub.ts');
    const node = [
      process.execPath,
      '--import',
      'tsx',
      script,
      CONTROL_ADDRESS,
      String(PORT),
      folder,
    ];
    const [program, ...args] = findMachine('control').inNetwork(...node);
    const hub = new ClusterHub(spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] }));
    await hub.#next(LISTENS);
    return hub;
  }

  async #next(expected: string): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error(`the hub ended before ${expected}`);
    return value;
  }

  async stop(): Promise<HubSeen> {
    this.#child.stdin?.end();
    return hubSeenSchema.parse(JSON.parse(await this.#next('its end')));
  }
}
