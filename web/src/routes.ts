/** The page's views. Each is a file of its own that the browser loads when it is first opened. */
import type { ComponentType } from 'preact';
import type { IconName } from './components/icon.tsx';

export interface Route {
  readonly path: string;
  /** Beginning of further addresses of the view. */
  readonly below?: string;
  readonly title: string;
  readonly icon: IconName;
  readonly load: () => Promise<{ default: ComponentType }>;
}

/** Addresses of chats: this, and the chat's id. */
export const CHATS = '/ui/chat/';

export const ROUTES: readonly Route[] = [
  {
    path: '/',
    below: CHATS,
    title: 'Chat',
    icon: 'chat',
    load: () => import('./views/chat/chat-view.tsx'),
  },
  {
    path: '/ui/completion',
    title: 'Completion',
    icon: 'text',
    load: () => import('./views/completion/completion-view.tsx'),
  },
  {
    path: '/ui/batch',
    title: 'Batch',
    icon: 'batch',
    load: () => import('./views/batch/batch-view.tsx'),
  },
  {
    path: '/ui/status',
    title: 'Status',
    icon: 'status',
    load: () => import('./views/status/status-view.tsx'),
  },
  {
    path: '/ui/bench',
    title: 'Bench',
    icon: 'bench',
    load: () => import('./views/bench/bench-view.tsx'),
  },
];

export function routeOf(path: string): Route | undefined {
  return ROUTES.find(
    (route) => route.path === path || (route.below !== undefined && path.startsWith(route.below)),
  );
}
