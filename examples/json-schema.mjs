// Structured output: the answer is JSON of a schema, whatever the model would have written without it.
import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: `${process.env.CHAIRLIFT_URL ?? 'http://127.0.0.1:8000'}/v1`,
  apiKey: process.env.CHAIRLIFT_CLIENT_API_KEY ?? 'none',
});

const text = 'The yellow compass costs 207 coins.';
const schema = {
  type: 'object',
  properties: {
    item: { type: 'string', maxLength: 40 },
    colour: { type: 'string', enum: ['red', 'green', 'blue', 'yellow'] },
    price: { type: 'integer', minimum: 0, maximum: 1000 },
  },
  required: ['item', 'colour', 'price'],
  additionalProperties: false,
};

const { choices } = await client.chat.completions.create({
  model: process.env.CHAIRLIFT_CLIENT_MODEL ?? 'summit',
  messages: [{ role: 'user', content: `Read this and answer in JSON. ${text}` }],
  response_format: { type: 'json_schema', json_schema: { name: 'offer', schema, strict: true } },
  temperature: 0,
});
const [{ message, finish_reason }] = choices;
if (finish_reason !== 'stop') throw new Error(`the answer ended by ${finish_reason}`);
console.log(JSON.parse(message.content));
