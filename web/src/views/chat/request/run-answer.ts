/** Runs a request from its body to what has become of its messages. */
import { reasonOf } from '../../../api/connection.ts';
import { refreshModels } from '../../../api/models.ts';
import { beginWaiting } from '../../../api/pending.ts';
import type { Message } from '../model/types.ts';
import { AnswerBuilder } from './answer-builder.ts';
import type { RequestBody } from './request-body.ts';
import { streamChat } from './stream-chat.ts';

/** How often what is being written is shown, in milliseconds: more than the eye follows costs time. */
const SHOW_MS = 33;

export interface AnswerRun {
  readonly body: RequestBody;
  readonly numAnswers: number;
  /** Beginning of each answer. */
  readonly given: string;
  readonly signal: AbortSignal;
  /** Called with what each answer's message has so far, and at last once with how it ended. */
  readonly onChange: (fields: readonly Partial<Message>[]) => void;
}

/** Never rejects: how it ended is in the messages. */
export async function runAnswer(run: AnswerRun): Promise<void> {
  const { body, given, numAnswers, onChange, signal } = run;
  const builder = new AnswerBuilder(numAnswers, given);
  const { model } = body;
  const waiting = beginWaiting(typeof model === 'string' ? model : null);
  let isWaiting = true;
  let resumed: Partial<Message> = {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tell = (end: Partial<Message> = {}) => {
    clearTimeout(timer);
    timer = undefined;
    const fields = Array.from({ length: numAnswers }, (_, index) => builder.fields(index));
    onChange(fields.map((each) => ({ ...each, ...resumed, ...end })));
  };
  const onResume = (gapMs: number) => {
    builder.addGap(gapMs);
    resumed = { resumedAfterMs: (resumed.resumedAfterMs ?? 0) + gapMs };
  };
  try {
    for await (const chunk of streamChat(body, { id: waiting.id, signal, onResume })) {
      builder.add(chunk);
      if (builder.hasBegun && isWaiting) {
        isWaiting = false;
        waiting.end();
        // A model that was loaded for it is ready by now.
        refreshModels();
      }
      timer ??= setTimeout(tell, SHOW_MS);
    }
    tell({ state: 'done' });
  } catch (error) {
    tell(signal.aborted ? { state: 'stopped' } : { state: 'failed', error: reasonOf(error) });
  } finally {
    waiting.end();
  }
}
