from ansible.plugins.loader import filter_loader
from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **options):
        return [filter_loader.get(terms[0]).j2_function("lookup", "lookup")]
