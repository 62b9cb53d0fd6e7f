/** Hosts that images may be fetched from (--allowed-media-domains). */
import { isIP } from 'node:net';
import { bareHost } from '../../net/bare-host.ts';

/** An entry of the list. */
interface Domain {
  /** As URLs have it: in small letters, numbers and Punycode. */
  readonly host: string;
  /** `*.` before it: what is below it, and not it. */
  readonly isBelow: boolean;
  /** '' for the usual port of http and https. */
  readonly port: string;
}

export class MediaDomains {
  readonly #domains: readonly Domain[];

  /** @param entries as `isMediaDomain` accepts them */
  constructor(entries: readonly string[]) {
    this.#domains = entries.flatMap((entry) => domainOf(entry) ?? []);
  }

  /** Whether the host of a URL is in the list, and its port that of the entry. */
  allows({ hostname, port }: URL): boolean {
    return this.#domains.some((domain) => {
      const isIt = domain.isBelow
        ? hostname.endsWith(`.${domain.host}`) && isIP(hostname) === 0
        : hostname === domain.host;
      return isIt && port === domain.port;
    });
  }
}

/** Whether a text is a host such as `example.com`, `*.example.com` or `10.0.0.5:9000`. */
export function isMediaDomain(text: string): boolean {
  return domainOf(text) !== null;
}

function domainOf(text: string): Domain | null {
  const isBelow = text.startsWith('*.');
  const rest = isBelow ? text.slice(2) : text;
  const url = `http://${rest}/`;
  // A path, a user or a second star is none of a host.
  if (/[/\\@?#*\s]/.test(rest) || !URL.canParse(url)) return null;
  const { hostname: host, port } = new URL(url);
  const isAddress = isIP(bareHost({ hostname: host })) !== 0;
  return isBelow && isAddress ? null : { host, isBelow, port };
}
