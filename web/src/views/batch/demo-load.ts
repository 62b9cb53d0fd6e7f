/** A few requests of all sizes, for whoever sees the batch for the first time. */
import { TokenSocket } from '../../api/token-socket.ts';
import { RequestRecorder } from '../../../../src/bench/recorder.ts';

export const DEMO_REQUESTS = 16;

/** Milliseconds over which they arrive. */
const OVER_MS = 1500;
const BEGINNINGS = ['Once upon a time', 'The mountain was', 'In the morning', 'A small boat'];

/** @throws Error when the server takes no WebSocket */
export async function sendDemo(model: string | null): Promise<void> {
  const socket = await TokenSocket.open();
  try {
    const requests = Array.from({ length: DEMO_REQUESTS }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, (index * OVER_MS) / DEMO_REQUESTS));
      const prompt = `${BEGINNINGS[index % 4]} `.repeat(2 + ((index * 7) % 24));
      const max_tokens = 24 + ((index * 29) % 90);
      const body = { prompt, max_tokens, ignore_eos: true, stream: true };
      const recorder = new RequestRecorder(() => performance.now(), 0, 0);
      return socket.stream({ ...body, ...(model === null ? {} : { model }) }, recorder, 'demo-');
    });
    const records = await Promise.all(requests);
    const failed = records.find(({ error }) => error !== null);
    if (failed?.error) throw new Error(failed.error);
  } finally {
    socket.close();
  }
}
