/** An encoder process: batches in by IPC, their outcomes out. */
import { ortVersion } from '../../ort/environment.ts';
import { usableCores } from '../../engine/cpu/usable-cores.ts';
import type { BatchRunner } from '../batch-runner.ts';
import { openEncoder } from '../open-encoder.ts';
import type { EncoderCommand, EncoderMessage, EncoderOptions } from './protocol.ts';

let runner: BatchRunner | undefined;

process.on('message', (command: EncoderCommand) => void handle(command));
// The front is gone: nobody is left to work for.
process.on('disconnect', () => process.exit(0));
// A terminal sends these to every process of the group, but the front decides when this one ends.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});

async function handle(command: EncoderCommand): Promise<void> {
  switch (command.type) {
    case 'start':
      await start(command.options);
      break;
    case 'run': {
      if (!runner) throw new Error('the encoder is not started');
      runner.run(command.inputs, (outcomes) => post({ type: 'done', id: command.id, outcomes }));
      break;
    }
    case 'shutdown':
      process.exit(0);
  }
}

async function start({ source, threads: wanted }: EncoderOptions): Promise<void> {
  try {
    const threads = wanted || usableCores();
    const opened = await openEncoder(source, threads);
    runner = opened.runner;
    const { signature, text } = opened;
    const residentBytes = process.memoryUsage.rss();
    const info = { runtimeVersion: ortVersion(), threads, signature, residentBytes, text };
    post({ type: 'ready', info });
  } catch (error) {
    post({ type: 'failed', message: error instanceof Error ? error.message : String(error) });
  }
}

function post(message: EncoderMessage): void {
  process.send?.(message);
}
