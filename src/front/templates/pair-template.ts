/** How a query and a document are put to a model that says whether they match. */
import type { ChatMessage } from './chat-message.ts';
import { ChatTemplate } from './chat-template.ts';

/** The one that Qwen3-Reranker was published with, for models that bring none. */
const PUBLISHED = `<|im_start|>system
Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>
<|im_start|>user
<Instruct>: Given a web search query, retrieve relevant passages that answer the query
<Query>: {{ messages[0].content }}
<Document>: {{ messages[1].content }}<|im_end|>
<|im_start|>assistant
<think>

</think>

`;

/** A pair of texts as a chat, with the roles that sentence-transformers has for them. */
export function pairMessages([query, document]: readonly [string, string]): ChatMessage[] {
  return [
    { role: 'query', content: query },
    { role: 'document', content: document },
  ];
}

/** @returns the model's own template, if it knows these roles */
export function pairTemplate(own: ChatTemplate | null): ChatTemplate {
  const knowsRoles = own !== null && ['query', 'document'].every((role) => hasRole(own, role));
  // Jinja drops the last line break of a template's text, which has to be there.
  return knowsRoles ? own : new ChatTemplate(new Map([['default', `${PUBLISHED}{{ '' }}`]]), {});
}

function hasRole({ text }: ChatTemplate, role: string): boolean {
  return text.includes(`'${role}'`) || text.includes(`"${role}"`);
}
