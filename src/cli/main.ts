#!/usr/bin/env node
import { Command } from 'commander';
import { TokenizerError } from '../front/text/tokenizer-files.ts';
import { EngineError } from '../front/engine-process/engine-contract.ts';
import { InvalidRequestError } from '../front/invalid-request.ts';
import { EvalFileError } from '../eval/eval-file.ts';
import { FolderTakenError } from '../files/folder-lock.ts';
import { UntrustedPathError } from '../files/untrusted-path.ts';
import { ModelError } from '../model/model-error.ts';
import { ApiKeyFileError } from '../server/auth/api-key-file.ts';
import { ListenError } from '../server/http/listen.ts';
import { TlsFileError } from '../server/http/tls.ts';
import { BenchError } from '../bench/bench-error.ts';
import { MembersError } from '../distill/gzip-members.ts';
import { PromptLineError } from '../distill/prompt-line.ts';
import { benchCommand } from './bench.ts';
import { buildCommand } from './build.ts';
import { doctorCommand } from './doctor/command.ts';
import { evalCommand } from './eval.ts';
import { optimizeCommand } from './optimize.ts';
import { StepError } from '../optimize/steps/step.ts';
import { UsageError } from './usage-error.ts';
import { listCommand, pullCommand, removeCommand, showCommand } from './model-commands.ts';
import { runCommand } from './run.ts';
import { psCommand, stopCommand } from './server-commands.ts';
import { generateCommand } from './generate.ts';
import { profileCommand } from './profile/command.ts';
import { batchCommand } from './batch.ts';
import { distillDataCommand } from './distill-data.ts';
import { serveCommand } from './serve.ts';
import { packageVersion } from './version.ts';

/** Failures that the user can fix: the message is enough, and a stack would hide it. */
const EXPECTED_ERRORS = [
  ModelError,
  UntrustedPathError,
  FolderTakenError,
  TokenizerError,
  ListenError,
  EngineError,
  EvalFileError,
  ApiKeyFileError,
  TlsFileError,
  UsageError,
  StepError,
  BenchError,
  InvalidRequestError,
  MembersError,
  PromptLineError,
];

const program = new Command('chairlift')
  .description('A continuous-batching token server for ONNX language models.')
  .version(await packageVersion(), '-V, --version')
  .addCommand(serveCommand())
  .addCommand(runCommand())
  .addCommand(pullCommand())
  .addCommand(listCommand())
  .addCommand(showCommand())
  .addCommand(removeCommand())
  .addCommand(psCommand())
  .addCommand(stopCommand())
  .addCommand(generateCommand())
  .addCommand(batchCommand())
  .addCommand(buildCommand())
  .addCommand(benchCommand())
  .addCommand(profileCommand())
  .addCommand(evalCommand())
  .addCommand(distillDataCommand())
  .addCommand(optimizeCommand())
  .addCommand(doctorCommand())
  .addHelpText(
    'after',
    `
Every flag can also be set in the environment: --max-num-seqs is CHAIRLIFT_MAX_NUM_SEQS.
Built models are kept in CHAIRLIFT_CACHE (default: the user's cache folder).`,
  );

try {
  await program.parseAsync();
} catch (error) {
  const expected = EXPECTED_ERRORS.some((type) => error instanceof type);
  console.error(expected && error instanceof Error ? `chairlift: ${error.message}` : error);
  process.exit(1);
}
