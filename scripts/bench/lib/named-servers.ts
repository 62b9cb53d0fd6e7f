export interface NamedServer {
  readonly name: string;
  readonly url: string;
}

/** Servers that run already. @param flags each `NAME=URL`; a URL may have more of `=` */
export function namedServers(flags: readonly string[]): readonly NamedServer[] {
  return flags.map((flag) => {
    const [name = '', url = ''] = flag.split(/=(.*)/);
    return { name, url };
  });
}
