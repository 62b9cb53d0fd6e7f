/** An encoder process: batches in by IPC, their outcomes out. */
import { ortVersion } from '../../ort/environment.ts';
import { usableCores } from '../../ort/usable-cores.ts';
import type { BatchRunner } from '../batch-runner.ts';
import { openEncoder } from '../open-encoder.ts';
import type {
  EncoderCommand,
  EncoderInput,
  EncoderMessage,
  EncoderOptions,
  EncoderOutcome,
} from './protocol.ts';
import { ReceivedTensors } from './received-tensors.ts';
import { inParts } from './tensor-parts.ts';
import { reasonOf } from '../../files/system-error.ts';
import type { TensorValue } from '../tensors/tensor.ts';

let runner: BatchRunner | undefined;
/** Called when the front wants the next part. */
let goOn = (): void => {};
const received = new ReceivedTensors();

process.on('message', (command: EncoderCommand) => void handle(command));

async function handle(command: EncoderCommand): Promise<void> {
  switch (command.type) {
    case 'start':
      await start(command.options);
      break;
    case 'part':
      received.add(command.part);
      post({ type: 'more' });
      break;
    case 'run': {
      if (!runner) throw new Error('the encoder is not started');
      await run(runner, command);
      break;
    }
    case 'more':
      goOn();
      break;
    case 'shutdown':
      process.exit(0);
  }
}

async function run(
  batches: BatchRunner,
  { id, inputs, lists }: Extract<EncoderCommand, { type: 'run' }>,
): Promise<void> {
  const whole = lists === null ? inputs : withTensors(inputs, await received.take(lists));
  const { outcomes, release } = batches.hold(whole);
  try {
    const parted = inParts(outcomes.map((each) => (each.type === 'done' ? each.output : [])));
    for (const part of parted?.parts ?? []) {
      const asked = new Promise<void>((resolve) => (goOn = resolve));
      post({ type: 'part', part });
      await asked;
    }
    if (parted === null) post({ type: 'done', id, outcomes, lists: null });
    else post({ type: 'done', id, outcomes: outcomes.map(withoutOutput), lists: parted.lists });
  } finally {
    release();
  }
}

function withTensors(
  inputs: readonly EncoderInput[],
  lists: readonly (readonly TensorValue[])[],
): EncoderInput[] {
  return inputs.map((input, index) =>
    input.type === 'tensors' ? { ...input, tensors: lists[index] ?? [] } : input,
  );
}

function withoutOutput(outcome: EncoderOutcome): EncoderOutcome {
  return outcome.type === 'done' ? { type: 'done', output: [] } : outcome;
}

async function start({ source, threads: wanted }: EncoderOptions): Promise<void> {
  try {
    const threads = wanted || usableCores();
    const opened = await openEncoder(source, threads);
    runner = opened.runner;
    const { signature, text, maxBytes } = opened;
    const residentBytes = process.memoryUsage.rss();
    const info = {
      runtimeVersion: ortVersion(),
      threads,
      signature,
      residentBytes,
      maxBytes,
      text,
    };
    post({ type: 'ready', info });
  } catch (error) {
    post({ type: 'failed', message: reasonOf(error) });
  }
}

function post(message: EncoderMessage): void {
  process.send?.(message);
}
