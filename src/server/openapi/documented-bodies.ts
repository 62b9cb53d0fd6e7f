/** The request bodies for the documentation: the same schemas that check them. */
import { z } from 'zod';
import { logLevelBody, modelBody } from '../schemas/admin.ts';
import { loadAdapterBody, unloadAdapterBody } from '../schemas/adapters.ts';
import { anthropicMessage, countTokensBody, messagesBody, ownTool } from '../schemas/anthropic.ts';
import {
  chatCompletionBody,
  completionBody,
  detokenizeBody,
  tokenizeBody,
} from '../schemas/bodies.ts';
import { infillBody, llamaCompletionBody } from '../schemas/llama-server.ts';
import { slotBody } from '../schemas/slots.ts';
import { prefetchBody } from '../schemas/prefetch.ts';
import { teiEmbedSchema } from '../embeddings/bodies.ts';
import { rerankSchema, teiRerankSchema } from '../embeddings/rerank-body.ts';
import { embeddingsSchema } from '../embeddings/embeddings-body.ts';
import { mixedItem } from '../embeddings/mixed-inputs.ts';
import { scoreSchema } from '../embeddings/score-body.ts';
import { cohereEmbedSchema } from '../embeddings/cohere-embed.ts';
import { poolingSchema, teiEmbedAllSchema } from '../embeddings/pooling.ts';
import { teiEmbedSparseSchema } from '../embeddings/sparse.ts';
import { zeroShotSchema } from '../embeddings/zero-shot.ts';
import { classifySchema, teiPredictSchema } from '../embeddings/classification.ts';
import {
  ollamaChatBody,
  ollamaEmbedBody,
  ollamaEmbeddingsBody,
  ollamaGenerateBody,
  ollamaMessage,
  ollamaModelBody,
  ollamaOptions,
} from '../schemas/ollama.ts';
import { audioFields } from '../audio/fields.ts';
import { batchBody, uploadFields } from '../batches/schemas.ts';
import { contentParts, message } from '../schemas/messages.ts';
import {
  compactBody,
  conversationBody,
  conversationChange,
  customTool,
  functionTool,
  namespaceTool,
  responseBody,
} from '../schemas/responses.ts';
import { generateBody } from '../kserve/generate.ts';
import { indexBody, loadBody } from '../kserve/repository-bodies.ts';
import { inferBody, tensorInput, tensorOutput } from '../kserve/infer-body.ts';
import { predictionBody } from '../predictions/bodies.ts';
import { inputSchema } from '../responses/item-schemas.ts';

// Fields that are parsed by hand, item by item, are described here with the schemas of their items.
const tokenIds = z.array(z.int().nonnegative());

const prompt = z.union([z.string(), tokenIds, z.array(z.union([z.string(), tokenIds]))]);

const embedded = z.union([
  z.string(),
  tokenIds,
  mixedItem,
  z.array(z.union([z.string(), tokenIds, mixedItem])),
]);

const messages = z.array(
  message.extend({ content: z.union([z.string(), contentParts]).nullish() }),
);

/** Fields that are changed on their way in, or checked as a whole. */
const sampling = {
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  seed: z.int().nullish(),
};

const generation = { ...sampling, allowed_token_ids: tokenIds.nullish() };

const options = ollamaOptions.extend({ stop: sampling.stop }).nullish();

const anthropicTools = z.array(z.union([ownTool, z.looseObject({ type: z.string() })])).nullish();

const responseTools = z
  .array(z.union([functionTool, customTool, namespaceTool, z.looseObject({ type: z.string() })]))
  .nullish();

const anthropicMessages = z.array(anthropicMessage).min(1);

export const documentedBodies = {
  completions: completionBody.extend({ prompt, ...generation }),
  chatCompletions: chatCompletionBody.extend({ messages: messages.min(1), ...generation }),
  infill: infillBody.extend(sampling),
  llamaCompletion: llamaCompletionBody.extend({
    prompt: z.union([z.string(), tokenIds]),
    ...sampling,
  }),
  conversation: conversationBody.extend({ items: inputSchema.nullish() }),
  conversationChange,
  conversationItems: z.looseObject({ items: inputSchema }),
  compact: compactBody.extend({ input: inputSchema.nullish() }),
  responses: responseBody.extend({ input: inputSchema, tools: responseTools, ...sampling }),
  messages: messagesBody.extend({ messages: anthropicMessages, tools: anthropicTools }),
  countTokens: countTokensBody.extend({ messages: anthropicMessages, tools: anthropicTools }),
  tokenize: tokenizeBody.extend({ messages: messages.optional() }),
  ollamaChat: ollamaChatBody.extend({ messages: z.array(ollamaMessage).nullish(), options }),
  ollamaGenerate: ollamaGenerateBody.extend({ options }),
  ollamaModel: ollamaModelBody,
  ollamaEmbed: ollamaEmbedBody,
  ollamaEmbeddings: ollamaEmbeddingsBody,
  loadModel: modelBody,
  logLevel: logLevelBody,
  loadAdapter: loadAdapterBody,
  unloadAdapter: unloadAdapterBody,
  slot: slotBody,
  prefetch: prefetchBody.extend({ prompt: prompt.optional(), messages: messages.optional() }),
  detokenize: detokenizeBody.extend({ tokens: tokenIds }),
  embeddings: embeddingsSchema.extend({ input: embedded.optional() }),
  batch: batchBody,
  upload: uploadFields.extend({ file: z.string().meta({ format: 'binary' }) }),
  audio: audioFields.extend({
    file: z.string().meta({ format: 'binary' }),
    language: z.string().optional(),
    temperature: z.number().min(0).max(1).optional(),
    stream: z.boolean().optional(),
  }),
  prediction: predictionBody,
  rerank: rerankSchema,
  teiRerank: teiRerankSchema,
  score: scoreSchema,
  classify: classifySchema.extend({ input: prompt }),
  teiPredict: teiPredictSchema,
  zeroShot: zeroShotSchema,
  cohereEmbed: cohereEmbedSchema,
  pooling: poolingSchema.extend({ input: prompt }),
  teiEmbedSparse: teiEmbedSparseSchema.extend({ inputs: prompt }),
  teiEmbedAll: teiEmbedAllSchema.extend({ inputs: prompt }),
  teiEmbed: teiEmbedSchema.extend({ inputs: prompt }),
  generate: generateBody,
  repositoryIndex: indexBody,
  repositoryModel: loadBody,
  infer: inferBody.extend({ inputs: z.array(tensorInput), outputs: z.array(tensorOutput) }),
} satisfies Readonly<Record<string, z.ZodObject>>;
