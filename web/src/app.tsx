import { useEffect } from 'preact/hooks';
import { watchModels } from './api/models.ts';
import { Banner } from './components/banner.tsx';
import { KeyDialog } from './components/key-dialog.tsx';
import { LazyView } from './components/lazy-view.tsx';
import { Navigation } from './components/navigation.tsx';
import { NotFound } from './components/not-found.tsx';
import { Notices } from './components/notices.tsx';
import { Shortcuts } from './components/shortcuts.tsx';
import { pageTitle, path } from './router.ts';
import { routeOf } from './routes.ts';

export function App() {
  const route = routeOf(path.value);
  useEffect(watchModels, []);
  useEffect(() => {
    pageTitle.value = route?.title ?? 'Not found';
  }, [route]);
  return (
    <div class="app">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Navigation />
      <div class="stage">
        <Banner />
        <main id="main" tabIndex={-1}>
          {route ? <LazyView key={route.path} load={route.load} /> : <NotFound />}
        </main>
      </div>
      <Notices />
      <KeyDialog />
      <Shortcuts />
    </div>
  );
}
