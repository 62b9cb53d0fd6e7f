// Vercel's AI SDK: a streamed text and its usage.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';

const chairlift = createOpenAICompatible({
  name: 'chairlift',
  baseURL: `${process.env.CHAIRLIFT_URL ?? 'http://127.0.0.1:8000'}/v1`,
  apiKey: process.env.CHAIRLIFT_CLIENT_API_KEY ?? 'none',
  includeUsage: true,
});

let failure = null;
const result = streamText({
  model: chairlift(process.env.CHAIRLIFT_CLIENT_MODEL ?? 'summit'),
  prompt: 'Tell me a story about a lamp.',
  maxOutputTokens: 120,
  // An error ends the stream of texts without a word.
  onError: ({ error }) => {
    failure = error;
  },
});

for await (const text of result.textStream) process.stdout.write(text);
if (failure !== null) {
  console.error(failure.message ?? failure);
  process.exit(1);
}
const { inputTokens, outputTokens } = await result.usage;
console.log(
  `\n\n${inputTokens} tokens in, ${outputTokens} out, ended by: ${await result.finishReason}`,
);
