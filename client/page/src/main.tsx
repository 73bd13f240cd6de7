import { render } from 'preact';
import { App } from './app';
import { place, read } from './state';

place.value = read(location.search);
const root = document.getElementById('app')!;
root.textContent = '';
render(<App />, root);
