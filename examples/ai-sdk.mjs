// Vercel's AI SDK: a streamed text and its usage.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';

const chairlift = createOpenAICompatible({
  name: 'chairlift',
  baseURL: `${process.env.CHAIRLIFT_URL ?? 'http://127.0.0.1:8000'}/v1`,
  apiKey: process.env.CHAIRLIFT_API_KEY ?? 'none',
  includeUsage: true,
});

const result = streamText({
  model: chairlift('summit'),
  prompt: 'Tell me a story about a lamp.',
  maxOutputTokens: 120,
});

for await (const text of result.textStream) process.stdout.write(text);
const { inputTokens, outputTokens } = await result.usage;
console.log(
  `\n\n${inputTokens} tokens in, ${outputTokens} out, ended by: ${await result.finishReason}`,
);
