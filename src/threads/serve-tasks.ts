import type { TaskAnswer } from './process-pool.ts';

/** Makes this process answer the tasks of a ProcessPool. */
export function serveTasks(answer: (task: object) => Promise<unknown>): void {
  process.on('message', (message: object) => {
    if ('type' in message && message.type === 'shutdown') process.exit(0);
    void reply(answer(message)).then((each) => process.send?.(each));
  });
}

async function reply(answering: Promise<unknown>): Promise<TaskAnswer<unknown>> {
  try {
    return { type: 'done', result: await answering };
  } catch (error) {
    return { type: 'failed', reason: error instanceof Error ? error.message : String(error) };
  }
}
