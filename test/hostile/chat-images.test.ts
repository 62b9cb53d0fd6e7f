import { mountAll } from './support/mount-all.ts';

await mountAll('images of chats', new URL('./attacks/chat-images.ts', import.meta.url));
