import { KvEventPublisher } from '../front/kv-events/kv-event-publisher.ts';
import type { Options } from './options.ts';
import { UsageError } from './usage-error.ts';

type KvEventFlags = Options<'kvEvents' | 'kvEventsReplay' | 'kvEventsAddress' | 'host' | 'port'>;

/**
 * Null without `--kv-events`.
 * @throws UsageError when flags do not go together, zeromq is not installed, or a port is taken
 */
export async function openKvEvents(options: KvEventFlags): Promise<KvEventPublisher | null> {
  const { kvEvents: endpoint, kvEventsReplay: replayEndpoint = null, host, port } = options;
  if (endpoint === undefined) {
    if (replayEndpoint === null) return null;
    throw new UsageError('--kv-events-replay needs --kv-events');
  }
  const address = options.kvEventsAddress ?? `${host}:${port}`;
  try {
    return await KvEventPublisher.open({ endpoint, replayEndpoint, address });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--kv-events: ${reason}`);
  }
}
