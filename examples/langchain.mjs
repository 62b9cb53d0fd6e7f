// LangChain: a prompt template and the model as one chain, streamed; then many inputs as a batch.
import { StringOutputParser } from '@langchain/core/output_parsers';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { ChatOpenAI } from '@langchain/openai';

const model = new ChatOpenAI({
  model: process.env.CHAIRLIFT_CLIENT_MODEL ?? 'summit',
  temperature: 0,
  maxTokens: 60,
  // Default is 6, each waits longer: a server that is not there would be noticed after a minute.
  maxRetries: 1,
  apiKey: process.env.CHAIRLIFT_CLIENT_API_KEY ?? 'none',
  configuration: { baseURL: `${process.env.CHAIRLIFT_URL ?? 'http://127.0.0.1:8000'}/v1` },
});

const chain = ChatPromptTemplate.fromTemplate('What is {a} + {b}?')
  .pipe(model)
  .pipe(new StringOutputParser());

for await (const text of await chain.stream({ a: 23, b: 45 })) process.stdout.write(text);
console.log();

// These run together: the server works on all of them at every step.
const sums = [1, 2, 3, 4].map((a) => ({ a, b: 10 * a }));
console.log(await chain.batch(sums));
