/** Events of /admin/steps, as text. The simulator writes the same. */
import type { EngineRequest } from '../../engine/request.ts';
import {
  CELL_FIELDS,
  CELL_LENGTH,
  SENT_BACK_FOR,
  SLOT_WORK,
  type StepRecord,
} from '../../engine/tap/step-record.ts';
import type { StepsEventOf } from '../schemas/steps.ts';
import { WrittenJson } from '../http/written-json.ts';
import { told } from '../../told.ts';

/** Most characters of a client's request id that are reported. */
const MAX_ID_CHARACTERS = 100;

export function unixMs(): number {
  return rounded(performance.timeOrigin + performance.now());
}

export function written(
  event: StepsEventOf<'engine' | 'lost' | 'queue' | 'request' | 'start'>,
): WrittenJson {
  return new WrittenJson(JSON.stringify(event), event.type);
}

/** First event of a stream or a recording. */
export function startEvent(model: string, every: number, at: number): WrittenJson {
  const names = { cell: [...CELL_FIELDS], work: [...SLOT_WORK], sent_back_for: [...SENT_BACK_FOR] };
  // Each list is of a type of its own.
  const start = { type: 'start', version: 1, at, model, every, ...names } as const;
  return written(start as unknown as StepsEventOf<'start'>);
}

/** @param request undefined if it is not known any more */
export function requestEvent(
  id: number,
  request: Omit<EngineRequest, 'id'> | undefined,
  instance = 0,
  timeOrigin = performance.timeOrigin,
): WrittenJson {
  const { label, background } = request ?? {};
  const requestId = label?.requestId ?? null;
  return written({
    type: 'request',
    instance,
    id,
    request_id: requestId && told(requestId, MAX_ID_CHARACTERS),
    class: background ?? label?.serviceClass ?? null,
    prompt_tokens: request?.promptTokenIds.length ?? 0,
    max_tokens: request?.maxTokens ?? 0,
    arrived_at: request === undefined ? null : rounded(timeOrigin + request.arrivalMs),
  });
}

/** Written by hand: it comes with every iteration, and most of it is one list of numbers. */
export function stepEvent(record: StepRecord, instance = 0): WrittenJson {
  const { step, startedAt, ms, runMs, predictedMs, waiting, numWaiting, sentBack } = record;
  const { length, total, running, kept } = record.pages;
  const text =
    `{"type":"step","instance":${instance},"step":${step},"at":${rounded(startedAt)},` +
    `"ms":${rounded(ms)},"run_ms":${rounded(runMs)},"predicted_ms":${rounded(predictedMs)},` +
    `"cells":[${rowsOf(record.cells, CELL_LENGTH)}],` +
    `"waiting":[${waiting.join(',')}],"num_waiting":${numWaiting},` +
    `"sent_back":[${rowsOf(sentBack, 3, false)}],` +
    `"pages":[${length},${total},${running},${kept}]}`;
  return new WrittenJson(text, 'step');
}

/** @param isTrimmed without the zeros at the end of each row */
function rowsOf(table: Float64Array, width: number, isTrimmed = true): string {
  let text = '';
  for (let start = 0; start < table.length; start += width) {
    let end = start + width;
    if (isTrimmed) while (end > start + 1 && table[end - 1] === 0) end--;
    text += start === 0 ? '[' : ',[';
    text += table[start];
    for (let at = start + 1; at < end; at++) text += `,${table[at]}`;
    text += ']';
  }
  return text;
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
