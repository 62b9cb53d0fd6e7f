/** /v1/audio/transcriptions and /v1/audio/translations, after OpenAI. */
import type { Context, Hono } from 'hono';
import { AUDIO_LIMITS } from '../../audio-limits.ts';
import type { AudioPool } from '../../front/audio/audio-pool.ts';
import type { Recording } from '../../front/audio/recording.ts';
import type { Caller } from '../../front/caller.ts';
import type { SpeechModel } from '../../front/transcription/speech-model.ts';
import { transcribe } from '../../front/transcription/transcribe.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { badRequest, unavailable } from '../errors.ts';
import { answerStream } from '../http/answer-stream.ts';
import { requireAllowedOrigin } from '../http/cors.ts';
import { sendJson } from '../http/send-pieces.ts';
import { UNENDING_EVENTS } from '../http/sse.ts';
import { tooManyUploads, UploadRoom } from '../http/upload-room.ts';
import { gatherTranscript, toAnswer, toStreamEvents, type Transcript } from './answers.ts';
import { type AudioRequest, toAudioRequest } from './fields.ts';
import { receiveAudio } from './receive-audio.ts';

/** Needs of these routes in addition to those of all. */
export interface AudioServices {
  readonly pool: Pick<AudioPool, 'open' | 'features'>;
  /**
   * The model of a name, once it is loaded; the first one that hears, if none is named.
   * @throws ApiError 400 for a model that does not hear; UnknownModelError, ModelUnavailableError, QueueFullError
   */
  readonly acquire: (
    model: string | undefined,
    caller: Caller,
  ) => Promise<{ readonly model: SpeechModel; readonly release: () => void }>;
}

type AudioContext = Pick<ServerContext, 'bodies' | 'config' | 'logger' | 'isDraining'>;

const ROUTES = [
  ['/v1/audio/transcriptions', 'transcribe'],
  ['/v1/audio/translations', 'translate'],
] as const;

export function audioRoutes(
  app: Hono<ServerEnv>,
  context: AudioContext,
  services: AudioServices,
): void {
  const room = new UploadRoom(AUDIO_LIMITS.audios, AUDIO_LIMITS.clientAudios);
  for (const [path, task] of ROUTES) {
    app.post(path, async (c) => {
      // Web pages can send forms without asking first.
      requireAllowedOrigin(c.env.incoming, context.config);
      const caller = callerOf(context, c);
      if (context.isDraining()) throw unavailable('The server is shutting down.');
      const leave = room.enter(caller.client);
      if (leave === null) throw tooManyUploads(AUDIO_LIMITS.clientAudios);
      try {
        return await answer(c, context, services, task, caller);
      } finally {
        leave();
      }
    });
  }
}

/** A recording, and the model that is to hear it. */
interface Prepared {
  readonly request: AudioRequest;
  readonly model: SpeechModel;
  readonly recording: Recording;
  /** Lets both go. */
  readonly release: () => void;
}

async function answer(
  c: Context<ServerEnv>,
  context: AudioContext,
  services: AudioServices,
  task: Transcript['task'],
  caller: Caller,
): Promise<Response> {
  const { request, model, recording, release } = await prepare(c, context, services, task, caller);
  try {
    const hear: AudioPool['features'] = (...asked) => services.pool.features(...asked);
    const events = transcribe(recording, model, hear, { ...request, task }, caller);
    if (request.isStreamed) {
      return await answerStream(c, context, toStreamEvents(events), {
        style: UNENDING_EVENTS,
        toEvent: (error) => ({ ...error.toEnvelope() }),
      });
    }
    const transcript = await gatherTranscript(events, { task, duration: recording.seconds });
    return await send(c, toAnswer(transcript, request));
  } finally {
    release();
  }
}

/** Its file is forgotten once it is decoded, which is long before the answer ends. */
async function prepare(
  c: Context<ServerEnv>,
  { bodies }: AudioContext,
  { acquire, pool }: AudioServices,
  task: Transcript['task'],
  caller: Caller,
): Promise<Prepared> {
  const form = await receiveAudio(c.env.incoming, bodies.budget, caller.client);
  try {
    const request = toAudioRequest(form.fields);
    const { model, release } = await acquire(request.model, caller);
    try {
      checkAsked(request, task, model);
      const { recording, close } = await pool.open(form.file, caller);
      const releaseBoth = (): void => {
        close();
        release();
      };
      return { request, model, recording, release: releaseBoth };
    } catch (error) {
      release();
      throw error;
    }
  } finally {
    form.release();
  }
}

async function send(c: Context<ServerEnv>, made: ReturnType<typeof toAnswer>): Promise<Response> {
  if (typeof made['mediaType'] !== 'string') return await sendJson(c, made);
  return c.body(String(made['text']), 200, { 'content-type': made['mediaType'] });
}

/** @throws ApiError 400 for what the model can't do */
function checkAsked(
  { language, withWords }: AudioRequest,
  task: Transcript['task'],
  { id, tokens, aligns }: SpeechModel,
): void {
  const isEnglish = tokens.languages.size === 0;
  if (task === 'translate' && tokens.translate === null) {
    throw badRequest(`The model \`${id}\` does not translate.`, 'model', 'invalid_value');
  }
  if (withWords && !aligns) {
    const message = `The model \`${id}\` has no \`alignment_heads\`, which times of words take.`;
    throw badRequest(message, 'timestamp_granularities', 'invalid_value');
  }
  if (language === null || tokens.languages.has(language)) return;
  if (isEnglish && language === 'en') return;
  const message = `\`language\`: the model \`${id}\` does not know \`${language}\`.`;
  throw badRequest(message, 'language', 'invalid_value');
}
