import {
  DecoderEncoder,
  type DecoderEncoderOptions,
} from '../../front/embedding/decoder-encoder.ts';
import { EncoderInputError, type TextEncoder } from '../../front/embedding/embed-request.ts';
import { PromptReader, type PromptReaderOptions } from '../../front/generation/prompt-reader.ts';
import { LAST_TOKEN, readSentenceModules } from '../../model/encoder/sentence-modules.ts';
import { ModelError } from '../../model/model-error.ts';

interface Parts extends PromptReaderOptions, Omit<DecoderEncoderOptions, 'reader' | 'modules'> {
  /** Null for a bare shape. */
  readonly folder: string | null;
  /** Called with the parts of the folder that can't be served. */
  readonly onProblem: (message: string) => void;
}

/**
 * Makes embeddings and scores with a model that generates text. If the folder asks for something that
 * can't be served, the model generates all the same, and requests for embeddings get an error.
 */
export async function openDecoderEncoder({
  folder,
  onProblem,
  ...parts
}: Parts): Promise<TextEncoder> {
  try {
    const modules = await readSentenceModules(folder, LAST_TOKEN);
    return new DecoderEncoder({ ...parts, modules, reader: new PromptReader(parts) });
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    onProblem(error.message);
    return {
      labels: null,
      givesTokens: false,
      embed: refuse,
      embedTokens: refuse,
      embedSparse: refuse,
      score: refuse,
      classify: refuse,
    };
  }
}

/** Paths are for the log. */
async function refuse(): Promise<never> {
  throw new EncoderInputError(
    'the model makes no embeddings or scores: its modules.json asks for more',
  );
}
