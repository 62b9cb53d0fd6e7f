/** Models in memory, as the APIs see them; `src/serving/loading` makes them. */
import type { EngineAdapter } from '../engine/request.ts';
import type { ServedAdapters } from '../front/adapters/served-adapters.ts';
import type { Admission } from '../front/queue/admission.ts';
import type { ChatFormat } from '../front/chat/chat-format.ts';
import type { Engine } from '../front/engine-process/engine-contract.ts';
import type { ShiftedModel } from '../front/generation/context-shift.ts';
import type { Generator } from '../front/generation/generation.ts';
import type { GrammarChecker } from '../front/grammars/grammar-checker.ts';
import type { NextTurns } from '../front/prefetch/next-turns.ts';
import type { PinnedPrefixes } from '../front/prefetch/pinned-prefixes.ts';
import type { ImageReader } from '../front/chat/chat-images.ts';
import type { Prefetcher } from '../front/prefetch/prefetcher.ts';
import type { PromptEncoder } from '../front/prompts/prompt-encoder.ts';
import type { SlotFiles } from '../front/slots/slot-files.ts';
import type { SlotTexts } from '../front/slots/slot-texts.ts';
import type { TextTokenizer } from '../front/text/tokenizer.ts';
import type { TextEncoder } from '../front/embedding/embed-request.ts';
import type { SpeechVocabulary } from '../front/transcription/speech-vocabulary.ts';
import type { Transcriber } from '../front/transcription/transcriber.ts';
import type { ImageTower } from '../front/vision/image-encoder.ts';
import type { ImageClassifier } from '../front/images/image-classifier.ts';
import type { TensorModel } from '../front/tensors/tensor-model.ts';
import type { TextModel } from '../front/embedding/text-model.ts';
import type { Runtime } from '../front/registry/loaded-model.ts';
import type { ModelKey } from '../front/registry/model-definition.ts';
import type { Next } from './generation/stages/stage.ts';

/** Sampling values that a model's files recommend; what is absent has OpenAI's default. */
export interface SamplingDefaults {
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
  readonly maxNewTokens?: number;
  readonly mostNewTokens?: number;
}

/** File format of a model's weights. */
export type ModelFormat = 'gguf' | 'safetensors' | 'onnx';

/** Origin of a model, for clients that show it. */
export interface ModelDetails {
  /** Such as `llama`. */
  readonly family: string;
  readonly numParameters: number;
  /** Precision that it is computed in, such as `int8`. */
  readonly precision: string;
  readonly format: ModelFormat;
  /** How its files are quantized, such as `Q4_K_M`; null where that is the precision. */
  readonly quantization: string | null;
  /** Its chat template; '' without one. */
  readonly template: string;
}

export interface ServedModel {
  /** The name clients use. */
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  /** Longest prompt plus output, in tokens. */
  readonly maxModelLen: number;
  /** Null and left out where no answer goes on beyond that. */
  readonly contextShift?: ShiftedModel | null;
  readonly vocabSize: number;
  readonly samplingDefaults: SamplingDefaults;
  /** Ids of the tokens that contain a text, ascending; special tokens are not among them. */
  readonly tokensWith: (text: string) => Int32Array;
  /** Left out where that is not known. */
  readonly details?: ModelDetails;
}

/** Common part of all models in memory, whatever they compute. */
interface ServedRuntime extends Runtime {
  readonly model: { readonly id: string; readonly created: number };
  /** State of the best of its processes, and the longest silence of one with work. */
  readonly engine: Pick<Engine, 'state' | 'silentMs'>;
  /** Its queue: takes nothing new after `close`, and is idle once all requests have ended. */
  readonly admission: Pick<Admission, 'onIdle' | 'close'>;
  /** Ids of its processes; left out where it has none. */
  pids?(): readonly (number | undefined)[];
}

/** Last texts of clients' slots, and the files that they are saved in. */
export interface TextSlots {
  readonly texts: SlotTexts;
  readonly files: SlotFiles;
}

/** How a model writes speech. */
export interface WrittenSpeech {
  readonly transcriber: Transcriber;
  readonly vocabulary: SpeechVocabulary;
}

/** A model that generates text, with all that is its own. */
export interface TextRuntime extends ServedRuntime {
  readonly kind: 'text';
  readonly generator: Generator;
  readonly engine: Engine;
  readonly admission: Pick<
    Admission,
    'requireRoom' | 'mostPerRequest' | 'onIdle' | 'close' | 'waiting' | 'running'
  >;
  readonly tokenizer: Pick<
    TextTokenizer,
    'encode' | 'decode' | 'described' | 'idToToken' | 'pieces'
  >;
  readonly prompts: Omit<PromptEncoder, 'encodePairs'>;
  /** How the model writes tool calls and thoughts. */
  readonly chatFormat: ChatFormat;
  readonly grammars: Pick<GrammarChecker, 'check'>;
  /** Embeddings and scores, by what the model says after a text. */
  readonly encoder: TextEncoder;
  readonly model: ServedModel;
  /** LoRA adapters that requests pick; null or left out where there can be none. */
  readonly adapters?: ServedAdapters | null;
  readonly prefetcher: Pick<Prefetcher, 'prefetch'>;
  readonly pinned: Pick<PinnedPrefixes, 'pin'>;
  /** Null computes nothing ahead of a conversation's next turn. */
  readonly nextTurns: Pick<NextTurns, 'expect'> | null;
  /** Texts that clients save and restore; null or left out where there is no folder for them. */
  readonly slots?: TextSlots | null;
  /** Writes speech, in place of all else; null or left out for other models. */
  readonly speech?: WrittenSpeech | null;
  /** Whether chats may have images; left out for a model that takes text alone. */
  readonly takesImages?: boolean;
  /** Equal for models that give the same answers: for caches of them. */
  readonly buildId: string;
  /** Equal where weights, graph and tokenizer are, whatever computes them. */
  readonly contentId: string;
}

/** A text encoder: texts become vectors, or pairs of them scores. */
export interface EncoderRuntime extends ServedRuntime {
  readonly kind: 'encoder';
  readonly encoder: TextEncoder & Pick<TextModel, 'kind' | 'maxTokens' | 'dim' | 'stats'>;
  /** Vectors of images in the same space; null or left out for a model that takes texts alone. */
  readonly images?: ImageTower | null;
}

/** Any ONNX model without state. */
export interface TensorRuntime extends ServedRuntime {
  readonly kind: 'tensors';
  readonly tensors: Pick<TensorModel, 'signature' | 'maxBatchSize' | 'stats' | 'infer'>;
  /** Null for a model that takes no images. */
  readonly classifier: Pick<ImageClassifier, 'input' | 'classify'> | null;
}

export type AnyRuntime = TextRuntime | EncoderRuntime | TensorRuntime;

/** A model that generates text, as one request has it; see `acquireModel`. */
export interface ServedText extends Omit<TextRuntime, keyof Runtime | 'kind'> {
  /** Which model of the registry it is. */
  readonly modelKey: ModelKey;
  /** Adapter that the request picked; null or left out for the model alone. */
  readonly adapter?: EngineAdapter | null;
  /** Reads the request's images, and holds them until it lets the model go; null for a model that takes none. */
  readonly images: ImageReader | null;
  /** Salt that limits who finds a client's prefixes in the cache; see `saltOf`. */
  readonly cacheSaltOf: (client: string, cacheSalt: string) => string;
  /** The stages that a generation of this model goes through. */
  readonly generate: Next;
  /** Generations of the request that may still run: they end when it lets the model go. */
  readonly started: Set<AbortController>;
  /** Keeps the model loaded and them running beyond the request, until the function that it returns is called. */
  readonly keepLoaded: () => () => void;
}
