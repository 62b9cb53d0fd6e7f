import { mountAll } from './support/mount-all.ts';

await mountAll('doors', new URL('./attacks/doors.ts', import.meta.url));
