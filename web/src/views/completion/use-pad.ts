import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { reasonOf } from '../../api/connection.ts';
import { complete, type CompletionRequest, type Usage } from '../../api/completions.ts';
import { readSetting, writeSetting } from '../../settings.ts';
import { EMPTY, edited, GrowingText, type MarkedText } from './marked-text.ts';

const SETTING = 'pad';
/** Texts that Undo goes back to. */
const MAX_UNDO = 50;
/** Characters that this browser keeps. */
const MAX_KEPT = 200_000;

/** How the last run went. */
export interface Outcome {
  readonly usage: Usage | null;
  readonly finishReason: string | null;
  readonly stopReason: string | number | null;
  /** Milliseconds to the first token, and to the last. */
  readonly firstMs: number | null;
  readonly totalMs: number;
  /** Null when nothing went wrong. */
  readonly error: string | null;
}

export interface Run {
  readonly body: Omit<CompletionRequest, 'prompt'>;
  /** Text that the model gets. */
  readonly prompt: string;
  /** Text before the answer. */
  readonly base: MarkedText;
  /** Text after it, when something is filled in. */
  readonly tail?: string;
}

export interface Pad {
  readonly marked: MarkedText;
  readonly isRunning: boolean;
  readonly outcome: Outcome | null;
  readonly canUndo: boolean;
  readonly edit: (text: string) => void;
  readonly run: (run: Run) => void;
  readonly stop: () => void;
  readonly undo: () => void;
}

/** The text of the pad, and the one answer that may be on its way. */
export function usePad(): Pad {
  const [marked, setMarked] = useState<MarkedText>(() => edited(EMPTY, readSetting(SETTING) ?? ''));
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  const [before, setBefore] = useState<readonly MarkedText[]>([]);
  const current = useRef(running);
  current.current = running;
  useEffect(() => () => current.current?.abort(), []);
  useEffect(() => {
    if (marked.text.length <= MAX_KEPT) writeSetting(SETTING, marked.text);
  }, [marked.text]);

  const edit = useCallback((text: string) => setMarked((old) => edited(old, text)), []);
  const stop = useCallback(() => current.current?.abort(), []);
  const run = (next: Run) => {
    current.current?.abort();
    const controller = new AbortController();
    setRunning(controller);
    setOutcome(null);
    setBefore((all) => [...all.slice(1 - MAX_UNDO), marked]);
    void follow(next, controller.signal, setMarked).then((ended) => {
      // Another run may have begun.
      setRunning((now) => (now === controller ? null : now));
      setOutcome(ended);
    });
  };
  const undo = () => {
    const last = before.at(-1);
    if (last === undefined) return;
    stop();
    setMarked(last);
    setBefore((all) => all.slice(0, -1));
    setOutcome(null);
  };
  return {
    marked,
    isRunning: running !== null,
    outcome,
    canUndo: before.length > 0,
    edit,
    run,
    stop,
    undo,
  };
}

/** Never rejects. */
async function follow(
  { body, prompt, base, tail = '' }: Run,
  signal: AbortSignal,
  show: (marked: MarkedText) => void,
): Promise<Outcome> {
  const startedAt = performance.now();
  const growing = new GrowingText(base, body.echo === true ? 0 : base.text.length);
  let outcome: Omit<Outcome, 'totalMs'> = {
    usage: null,
    finishReason: null,
    stopReason: null,
    firstMs: null,
    error: null,
  };
  const showAll = () => {
    const { text, tokens } = growing.marked;
    show({ text: text + tail, tokens });
  };
  try {
    for await (const piece of complete({ ...body, prompt }, signal)) {
      growing.add(piece.text, piece.tokens);
      if (!signal.aborted) showAll();
      outcome = {
        ...outcome,
        usage: piece.usage ?? outcome.usage,
        finishReason: piece.finishReason ?? outcome.finishReason,
        stopReason: piece.stopReason ?? outcome.stopReason,
        firstMs: outcome.firstMs ?? (piece.text === '' ? null : performance.now() - startedAt),
      };
    }
  } catch (error) {
    if (signal.aborted) outcome = { ...outcome, finishReason: 'stopped' };
    else outcome = { ...outcome, error: reasonOf(error) };
  }
  return { ...outcome, totalMs: performance.now() - startedAt };
}
