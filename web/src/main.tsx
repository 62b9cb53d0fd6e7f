import './theme.css';
import './components/controls.css';
import { render } from 'preact';
import { App } from './app.tsx';

const root = document.querySelector('#app');
if (root !== null) render(<App />, root);
