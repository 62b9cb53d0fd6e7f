import type { Target } from './attack.ts';
import { KEYS } from './attack.ts';
import { Client } from './client.ts';

/** On Linux all of 127.0.0.0/8 is loopback: limits per address can tell the two apart. */
const ATTACKERS_ADDRESS = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';

export function clientsOf(url: string, hasKeys: boolean): Target {
  return {
    attacker: new Client({
      url,
      key: hasKeys ? KEYS.attacker : null,
      localAddress: ATTACKERS_ADDRESS,
    }),
    victim: new Client({ url, key: hasKeys ? KEYS.victim : null, localAddress: '127.0.0.1' }),
  };
}
