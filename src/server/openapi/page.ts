/** The documentation as one page without scripts, styles from elsewhere, or anything to load. */
import { html, raw } from 'hono/html';
import type { JsonObject } from '../json-object.ts';
import { toBodySchema } from './document.ts';
import { describeType } from './describe-type.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import { STYLE } from './page-style.ts';

type Html = ReturnType<typeof html>;

export interface PageFacts {
  /** Address of this server, as its reader knows it. */
  readonly origin: string;
  readonly version: string;
  readonly modelName: string;
}

export function createPage({ origin, version, modelName }: PageFacts): Html {
  const tags = [...new Set(OPERATIONS.map(({ tag }) => tag))];
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Chairlift ${version}: API</title>
        <style>
          ${raw(STYLE)}
        </style>
      </head>
      <body>
        <nav>
          <h1>Chairlift</h1>
          <p>${version}, serving <code>${modelName}</code></p>
          ${tags.map(
            (tag) =>
              html`<h2>${tag}</h2>
                <ul>
                  ${operationsOf(tag).map(
                    (operation) =>
                      html`<li>
                        <a href="#${idOf(operation)}">${badge(operation)} ${operation.path}</a>
                      </li>`,
                  )}
                </ul>`,
          )}
        </nav>
        <main>
          <section>
            <p>
              Point an OpenAI client at this server’s address with <code>/v1</code> behind it. The
              same as <a href="/openapi.json">OpenAPI document</a>. Unknown fields are accepted, and
              <code>null</code> is the same as leaving a field out. Errors are
              <code>{"error": {"message", "type", "param", "code"}}</code>. Every answer has an
              <code>x-request-id</code>: yours, if you send one.
            </p>
          </section>
          ${tags.map(
            (tag) =>
              html`<h2>${tag}</h2>
                ${operationsOf(tag).map((operation) => section(operation, origin))}`,
          )}
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
  const { path, summary, notes, body, query, example, answer } = operation;
  const { isOpen = false, streams } = operation;
  return html`<section id="${idOf(operation)}">
    <h3>${badge(operation)} <code>${path}</code></h3>
    <p>
      ${summary}${streams ? html`<i>streams</i>` : ''}${isOpen ? html`<i>no key needed</i>` : ''}
    </p>
    ${notes === undefined ? '' : html`<p>${withCode(notes)}</p>`}
    ${body === undefined ? '' : fields(toBodySchema(body))}
    ${query === undefined ? '' : fields(toBodySchema(query))}
    ${example === undefined ? '' : html`<pre>${toCurl(operation, origin)}</pre>`}
    ${answer === undefined ? '' : html`<pre>${JSON.stringify(answer, null, 2)}</pre>`}
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
