/** From a request to the model that hears it. */
import type { Caller } from '../../front/caller.ts';
import type { GenerationDelta, Generator } from '../../front/generation/generation.ts';
import { Whisper } from '../../front/transcription/whisper.ts';
import type { ServerContext } from '../context.ts';
import { capabilitiesOf } from '../describe-models.ts';
import { badRequest } from '../errors.ts';
import { startGeneration } from '../generation/start-generation.ts';
import { acquireKind, leased, modelOf } from '../model-access.ts';
import { modelIdOf, severalVersions } from '../model-id.ts';
import type { ServedText } from '../runtimes.ts';
import type { AudioServices } from './routes.ts';

export function acquireSpeech(context: ServerContext): AudioServices['acquire'] {
  return async (name, caller) => {
    const model = name ?? (await firstThatHears(context));
    return await leased(acquireKind(context, { model }, caller, 'text'), (lease) => {
      const { speech, model: facts, tokenizer } = lease.runtime;
      if (!speech) {
        const message = `The model \`${lease.definition.name}\` does not hear: it takes no audio.`;
        throw badRequest(message, 'model', 'model_not_supported');
      }
      const { model: served, release } = modelOf(context, { ...lease, adapter: null });
      const transcriber = speech.transcriber.by(generatorOf(served, caller));
      const { vocabulary } = speech;
      const salt = served.cacheSaltOf(caller.client, '');
      return {
        model: new Whisper({ id: facts.id, transcriber, vocabulary, tokenizer, salt }),
        release,
      };
    });
  };
}

/** @throws ApiError 400 where there is none */
async function firstThatHears(context: ServerContext): Promise<string> {
  const all = context.models.list();
  for (const info of all) {
    const capabilities = await capabilitiesOf(context, info);
    if (capabilities?.includes('transcription')) return modelIdOf(severalVersions(all), info);
  }
  throw badRequest('No model of this server hears.', 'model', 'model_not_supported');
}

/** Has each window go the way of all generations: granted, metered, listed, and ended with its client. */
function generatorOf(served: ServedText, caller: Caller): Generator {
  let isNextPart = false;
  return {
    async *generate(asked, signal): AsyncGenerator<GenerationDelta, void> {
      const request = { prompts: [{ ...asked, isNextPart }], numChoices: 1 };
      isNextPart = true;
      yield* await startGeneration(served, request, { ...caller, signal }, 'transcription');
    },
  };
}
