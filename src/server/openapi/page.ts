/** The documentation as one page that needs nothing else; a script adds forms to it, where there is one. */
import { html, raw } from 'hono/html';
import { ownTurn } from '../../own-turn.ts';
import type { JsonObject } from '../json-object.ts';
import { toBodySchema } from './document.ts';
import { describeType } from './describe-type.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import { STYLE } from './page-style.ts';

type Html = ReturnType<typeof html>;

/** Files of the server's page: its picture, the colors that were chosen there, the forms. */
function pageHead(rootPath: string): Html {
  return html`<link rel="icon" href="${rootPath}/ui/favicon.svg" type="image/svg+xml" />
    <script src="${rootPath}/ui/theme.js"></script>
    <script type="module" src="${rootPath}/ui/docs.js"></script>`;
}

export interface PageFacts {
  /** Address of this server, as its reader knows it, root path included. */
  readonly origin: string;
  /** See ServerConfig. */
  readonly rootPath: string;
  readonly version: string;
  readonly modelName: string;
  /** Whether the server has its page: then there are forms, a way to it, and its choice of colors. */
  readonly hasPage: boolean;
}

/** Each operation in a turn of the event loop: all take some 40 ms at first. */
export async function createPage(facts: PageFacts): Promise<Html> {
  const { origin, rootPath, version, modelName, hasPage } = facts;
  const sections = new Map<Operation, Html>();
  for (const operation of OPERATIONS) {
    sections.set(operation, await section(operation, origin));
    await ownTurn();
  }
  const tags = [...new Set(OPERATIONS.map(({ tag }) => tag))];
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Chairlift ${version}: API</title>
        ${raw(`<style>${STYLE}</style>`)} ${hasPage ? pageHead(rootPath) : ''}
      </head>
      <body>
        <nav>
          ${hasPage ? html`<p><a class="back" href="${rootPath}/">← To the chat</a></p>` : ''}
          <h1>Chairlift</h1>
          <p>${version}, serving <code>${modelName}</code></p>
          <div id="theme"></div>
          <div id="key"></div>
          ${tags.map(
            (tag) =>
              html`<h2>${tag}</h2>
                <ul>
                  ${operationsOf(tag).map(
                    (operation) =>
                      html`<li>
                        <a href="#${idOf(operation)}"
                          >${badge(operation)} <span>${operation.path}</span></a
                        >
                      </li>`,
                  )}
                </ul>`,
          )}
          <h2>WebSocket</h2>
          <ul>
            <li>
              <a href="#web-socket"><span>Frames of requests and answers</span></a>
            </li>
          </ul>
        </nav>
        <main>
          <section>
            <p>
              Point an OpenAI client at this server’s address with <code>/v1</code> behind it. The
              same as <a href="${rootPath}/openapi.json">OpenAPI document</a>. Unknown fields are
              accepted, and <code>null</code> is the same as leaving a field out. Errors are
              <code>{"error": {"message", "type", "param", "code"}}</code>, and in the forms of
              Anthropic, Ollama, Cohere and the Open Inference Protocol on their paths. Every answer
              has an <code>x-request-id</code>: yours, if you send one.
            </p>
          </section>
          ${tags.map(
            (tag) =>
              html`<h2>${tag}</h2>
                ${operationsOf(tag).map((operation) => sections.get(operation))}`,
          )}
          ${webSocketSection()}
        </main>
      </body>
    </html>`;
}

function operationsOf(tag: string): Operation[] {
  return OPERATIONS.filter((operation) => operation.tag === tag);
}

function idOf({ method, path }: Operation): string {
  return `${method}${path.replaceAll(/[^a-z]+/gi, '-')}`;
}

function badge({ method }: Operation): Html {
  return html`<b class="${method}">${method}</b>`;
}

function section(operation: Operation, origin: string): Html {
  const { method, path, summary, notes, body, query, example, answer } = operation;
  const { isOpen = false } = operation;
  const streams = operation.streams !== undefined || operation.answerType === 'text/event-stream';
  return html`<section id="${idOf(operation)}" data-method="${method}" data-path="${path}">
    <h3>${badge(operation)} <code>${path}</code></h3>
    <p>
      ${summary}${streams ? html`<i>streams</i>` : ''}${isOpen ? html`<i>no key needed</i>` : ''}
    </p>
    ${notes === undefined ? '' : html`<p>${withCode(notes)}</p>`}
    ${body === undefined ? '' : fields(toBodySchema(body))}
    ${query === undefined ? '' : fields(toBodySchema(query))}
    ${example === undefined ? '' : html`<pre tabindex="0">${toCurl(operation, origin)}</pre>`}
    ${answer === undefined ? '' : html`<pre tabindex="0">${JSON.stringify(answer, null, 2)}</pre>`}
    <div class="try"></div>
  </section>`;
}

function webSocketSection(): Html {
  return html`<h2>WebSocket</h2>
    <section id="web-socket">
      <p>
        <code>/v1/chat/completions</code> and <code>/v1/completions</code> take the body of a
        request as a frame, with a <code>request_id</code> of yours. Each frame that comes back has
        it too; the last is <code>{"request_id", "type": "done"}</code>. Many requests share a
        socket, and <code>{"request_id", "type": "cancel"}</code> ends one.
        <code>/v1/responses</code> takes OpenAI’s <code>response.create</code> events.
      </p>
      <div class="try"></div>
    </section>`;
}

function fields({ properties, required }: JsonObject): Html {
  const isRequired = new Set(Array.isArray(required) ? required : []);
  const rows = Object.entries(Object(properties)).sort(
    ([a], [b]) => Number(isRequired.has(b)) - Number(isRequired.has(a)),
  );
  return html`<details>
    <summary>${rows.length} fields</summary>
    <table>
      ${rows.map(
        ([name, schema]) =>
          html`<tr>
            <td><code>${name}</code>${isRequired.has(name) ? html`<i>required</i>` : ''}</td>
            <td>${describeType(schema)}</td>
            <td>${withCode(noteOf(schema))}</td>
          </tr>`,
      )}
    </table>
  </details>`;
}

function noteOf(schema: unknown): string {
  const isObject = typeof schema === 'object' && schema !== null;
  return isObject && 'description' in schema ? String(schema.description) : '';
}

/** Text between backticks is code. */
function withCode(text: string): Html[] {
  return text
    .split('`')
    .map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`));
}

function toCurl({ path, example }: Operation, origin: string): string {
  const body = JSON.stringify(example, null, 2).replaceAll("'", String.raw`'\''`);
  return `curl ${origin}${path} -H 'content-type: application/json' -d '${body}'`;
}
