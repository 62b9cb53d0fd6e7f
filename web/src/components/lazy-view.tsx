import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

interface LazyViewProps {
  readonly load: () => Promise<{ default: ComponentType }>;
}

/** A view whose code is loaded when it is shown. */
export function LazyView({ load }: LazyViewProps) {
  const [View, setView] = useState<ComponentType | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    load().then(
      (module) => setView(() => module.default),
      (error: unknown) => setFailure(String(error)),
    );
  }, [load]);
  if (View !== null) return <View />;
  if (failure === null) return <div class="loading" aria-busy="true" />;
  return (
    <div class="empty" role="alert">
      <h1>This view could not be loaded</h1>
      <p>The server may have been updated or stopped. {failure}</p>
      <button onClick={() => location.reload()}>Load the page again</button>
    </div>
  );
}
