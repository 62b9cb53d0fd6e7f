// The official OpenAI client: a streamed chat, then a conversation with the Responses API.
import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: `${process.env.CHAIRLIFT_URL ?? 'http://127.0.0.1:8000'}/v1`,
  apiKey: process.env.CHAIRLIFT_CLIENT_API_KEY ?? 'none',
});

const model = process.env.CHAIRLIFT_CLIENT_MODEL ?? 'summit';

const stream = await client.chat.completions.create({
  model,
  messages: [{ role: 'user', content: 'Tell me a story about a fox.' }],
  max_completion_tokens: 120,
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
console.log('\n');

const first = await client.responses.create({ model, input: 'What is 23 + 45?' });
console.log(first.output_text);

const second = await client.responses.create({
  model,
  input: 'And 12 + 30?',
  previous_response_id: first.id,
});
console.log(second.output_text);
