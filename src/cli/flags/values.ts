/** What the values of flags must look like. */
import { z } from 'zod';

const BYTES_PER_UNIT: Readonly<Record<string, number>> = {
  '': 1,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
};

/** Such as `8m`, `512k` or `1048576`. */
export const byteSize = z
  .string()
  .regex(/^\d+(\.\d+)?\s*([kmg]i?b?|b)?$/i, 'expected a size such as 8m, 512k or 1048576')
  .transform((text) => {
    const unit = /[kmg]/i.exec(text)?.[0].toLowerCase() ?? '';
    return Math.floor(Number.parseFloat(text) * (BYTES_PER_UNIT[unit] ?? 1));
  });

/** A file opened in a browser has the origin `null`. */
const ORIGIN = /^(\*|null|[a-z][a-z0-9+.-]*:\/\/[^/]+)$/i;

export const originList = z
  .string()
  .transform((text) => text.split(',').map((origin) => origin.trim().replace(/\/$/, '')))
  .pipe(z.array(z.string().regex(ORIGIN, 'expected origins such as https://chat.example')));

export const hostList = z
  .string()
  .transform((text) => text.split(',').map((host) => host.trim().toLowerCase()))
  .pipe(z.array(z.string().regex(/^[^\s:/]+$|^[\da-f:]+$/, 'expected names without ports')));

/** Of a server, without a path. */
export const serverUrl = z
  .string()
  .regex(/^https?:\/\/[^/]+\/?$/i, 'expected an address such as http://10.0.0.7:8000')
  .transform((text) => new URL(text));

/** Where replicas are found: servers, names in DNS, or Redis. */
const PEER = /^(https?:\/\/[^/]+|dns:[^/:]+:\d{1,5}|dns:_[^/:]+|redis)$/i;

export const peerList = z
  .string()
  .transform((text) => text.split(',').map((peer) => peer.trim().replace(/\/$/, '')))
  .pipe(
    z.array(
      z
        .string()
        .regex(
          PEER,
          'expected http://10.0.0.7:8000, dns:name:port, dns:_service._tcp.name or redis',
        ),
    ),
  );

/** Such as `0,9`. */
export const priorityRange = z
  .string()
  .regex(/^-?\d{1,9},-?\d{1,9}$/, 'expected two whole numbers such as 0,9')
  .transform((text) => {
    const [min = 0, max = 0] = text.split(',').map(Number);
    return { min, max };
  })
  .refine(({ min, max }) => min <= max, 'expected the lower one first');

export const count = (min: number) => z.coerce.number().pipe(z.int().min(min));

const CLOCK = /^([01]?\d|2[0-3]):([0-5]\d)$/;

/** Such as `chat`, or `chat,big=08:30`: names, and when on each day. */
export const preloadList = z.string().transform((text, context) =>
  text.split(',').map((part) => {
    const [name = '', time] = part.trim().split('=');
    const clock = CLOCK.exec(time ?? '');
    if (name === '' || (time !== undefined && clock === null)) {
      context.addIssue({ code: 'custom', message: 'expected names, or name=HH:MM' });
      return z.NEVER;
    }
    return { name, minutes: clock === null ? null : 60 * Number(clock[1]) + Number(clock[2]) };
  }),
);

/** Such as `a=1`, or `a=1,b=2`. */
export const assignments = z
  .string()
  .regex(/^[^=,]+=[^,]*(,[^=,]+=[^,]*)*$/, 'expected key=value')
  .transform((text): Record<string, string> =>
    Object.fromEntries(
      text.split(',').map((part) => {
        const [key = '', ...value] = part.split('=');
        return [key, value.join('=')];
      }),
    ),
  );
