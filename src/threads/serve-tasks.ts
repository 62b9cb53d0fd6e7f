import type { TaskAnswer } from './process-pool.ts';

/** Sends a piece of the answer to the running task; resolves once it is on its way. */
type SendPiece = (piece: unknown) => Promise<void>;

/** Makes this process answer the tasks of a ProcessPool. */
export function serveTasks(answer: (task: object, send: SendPiece) => Promise<unknown>): void {
  process.on('message', (message: object) => {
    if ('type' in message && message.type === 'shutdown') process.exit(0);
    void reply(answer(message, sendPiece)).then((each) => process.send?.(each));
  });
}

function sendPiece(piece: unknown): Promise<void> {
  const message = { type: 'piece', piece } satisfies TaskAnswer<unknown>;
  return new Promise((resolve) => process.send?.(message, () => resolve()));
}

async function reply(answering: Promise<unknown>): Promise<TaskAnswer<unknown>> {
  try {
    return { type: 'done', result: await answering };
  } catch (error) {
    return { type: 'failed', reason: error instanceof Error ? error.message : String(error) };
  }
}
