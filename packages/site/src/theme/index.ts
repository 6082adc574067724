import DefaultTheme from 'vitepress/theme-without-fonts'
import type { Theme } from 'vitepress'
import Home from './Home.vue'
import Layout from './Layout.vue'
import './fonts.css'
import './colours.css'
import './pages.css'
import './frame.css'

const theme: Theme = {
  extends: DefaultTheme,
  Layout,
  enhanceApp: ({ app }) => void app.component('Home', Home),
}

export default theme
