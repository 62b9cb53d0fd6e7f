/** A hub that pods can reach. */
import { z } from 'zod';
import { CONTROL_ADDRESS } from '../../../scripts/kubernetes/cluster/network.ts';
import { MachineScript } from './machine-script.ts';

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
  readonly #script: MachineScript;

  private constructor(script: MachineScript) {
    this.#script = script;
  }

  /** @param folder of the model */
  static async start(folder: string): Promise<ClusterHub> {
    const script = new MachineScript('control', 'hub.ts', CONTROL_ADDRESS, String(PORT), folder);
    await script.next(LISTENS);
    return new ClusterHub(script);
  }

  async stop(): Promise<HubSeen> {
    return hubSeenSchema.parse(await this.#script.end());
  }
}
