import { useEffect } from 'preact/hooks';
import { KeyDialog } from './components/key-dialog.tsx';
import { LazyView } from './components/lazy-view.tsx';
import { Navigation } from './components/navigation.tsx';
import { NotFound } from './components/not-found.tsx';
import { Notices } from './components/notices.tsx';
import { path } from './router.ts';
import { ROUTES } from './routes.ts';

export function App() {
  const route = ROUTES.find((each) => each.path === path.value);
  useEffect(() => {
    document.title = `${route?.title ?? 'Not found'} · Chairlift`;
  }, [route]);
  return (
    <div class="app">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Navigation />
      <main id="main" tabIndex={-1}>
        {route ? <LazyView key={route.path} load={route.load} /> : <NotFound />}
      </main>
      <Notices />
      <KeyDialog />
    </div>
  );
}
