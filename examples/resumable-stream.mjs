// A stream that survives its server: when the connection breaks, the client asks again, and another replica
// (or the same one, started again) goes on with the text. The servers need one secret: --resume-key.
import OpenAI from 'openai';
import { resumableStream } from 'chairlift/client';

const client = new OpenAI({
  baseURL: `${process.env.CHAIRLIFT_URL ?? 'http://127.0.0.1:8000'}/v1`,
  apiKey: process.env.CHAIRLIFT_CLIENT_API_KEY ?? 'none',
  fetch: resumableStream(),
});

const stream = await client.chat.completions.create({
  model: process.env.CHAIRLIFT_CLIENT_MODEL ?? 'summit',
  messages: [{ role: 'user', content: 'Tell me a story about a fox.' }],
  max_completion_tokens: 200,
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
console.log();
