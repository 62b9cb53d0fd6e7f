import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const LIST = /^\/api\/models\/[^/]+\/[^/]+\/revision\/main\?blobs=true$/;
const FILE = new RegExp(`^/[^/]+/[^/]+/resolve/${COMMIT}/(?<name>.+)$`);

/** A hub with one model under every name, at the branch `main`, that can be told to misbehave. */
export class FakeHub {
  readonly files: ReadonlyMap<string, Buffer>;
  /** Paths and ranges of the requests so far. */
  readonly requests: string[] = [];
  readonly tokens = new Set<string | undefined>();
  /** Answers to downloads are cut after so many bytes. */
  cutAfter = Infinity;
  knowsRanges = true;
  hashesAreWrong = false;
  commit = COMMIT;
  /** In place of what files have, by their names. */
  readonly statedSizes = new Map<string, number>();
  status = 200;
  readonly #server = createServer((request, response) => this.#answer(request, response));

  private constructor(files: Readonly<Record<string, string | Buffer>>) {
    this.files = new Map(
      Object.entries(files).map(([name, content]) => [name, Buffer.from(content)]),
    );
  }

  static async start(
    files: Readonly<Record<string, string | Buffer>>,
    { host = '127.0.0.1', port = 0 } = {},
  ): Promise<FakeHub> {
    const hub = new FakeHub(files);
    hub.#server.listen(port, host);
    await once(hub.#server, 'listening');
    return hub;
  }

  get endpoint(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** Names of the files that were asked for. */
  get downloads(): string[] {
    const prefix = `/owner/name/resolve/${COMMIT}/`;
    return this.requests
      .filter((path) => path.startsWith(prefix))
      .map((path) => path.slice(prefix.length));
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = '', headers } = request;
    // No request is sent over a connection that an answer before was cut on.
    response.setHeader('connection', 'close');
    this.requests.push([url, headers.range].filter((part) => part !== undefined).join(' '));
    this.tokens.add(headers.authorization);
    if (this.status !== 200) return void response.writeHead(this.status).end();
    if (LIST.test(url)) return this.#list(response);
    const name = FILE.exec(url)?.groups?.['name'] ?? '';
    const file = this.files.get(decodeURIComponent(name));
    if (!file) return void response.writeHead(404).end();
    this.#send(file, headers.range, response);
  }

  #list(response: ServerResponse): void {
    const siblings = [...this.files].map(([rfilename, content]) => {
      const hashed = this.hashesAreWrong ? 'else' : content;
      const sha256 = createHash('sha256').update(hashed).digest('hex');
      const lfs = rfilename.endsWith('.safetensors') ? { lfs: { sha256 } } : {};
      return { rfilename, size: this.statedSizes.get(rfilename) ?? content.length, ...lfs };
    });
    response.end(JSON.stringify({ sha: this.commit, siblings }));
  }

  #send(file: Buffer, range: string | undefined, response: ServerResponse): void {
    const start = this.knowsRanges ? Number(/bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0) : 0;
    const rest = file.subarray(start);
    response.writeHead(start > 0 ? 206 : 200, { 'content-length': rest.length });
    if (rest.length <= this.cutAfter) return void response.end(rest);
    // Not at once: what arrives together with the end of its connection is lost to who reads.
    const cut = () => setTimeout(() => response.destroy(), 20);
    response.write(rest.subarray(0, this.cutAfter), cut);
  }
}
